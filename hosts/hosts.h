/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hosts file: which nodes there are, where they are, and by which keys they
 * are known.  The same file on every node.
 *
 *	file    := line*
 *	line    := blanks [NAME blanks ADDRESS[:PORT] blanks KEY [blanks "domain=" DOMAIN]]
 *		   [blanks] ["#" text] "\n"
 *	NAME    := as `node` of ckptd.conf: letters, digits, "._-", at most 63
 *	ADDRESS := IPv4 address, host name, or [IPv6 address]
 *	KEY     := public key of the node, base64 (node_key.h)
 *	DOMAIN  := what fails as a whole with the node, a rack or a switch; as NAME
 *
 * `ckptctl keygen` prints a node's line.  A name or a key that is there twice is an error.
 */
#ifndef STILLPOINT_HOSTS_H
#define STILLPOINT_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "hosts/node_key.h"

#define HOSTS_DEFAULT	"/etc/stillpoint/hosts"
#define HOSTS_PORT	7929
#define HOSTS_MAX	4096		/* as COORD_NODES_MAX */
#define HOSTS_FILE_MAX	(2u << 20)
#define HOST_NAME_SIZE	64		/* with the NUL */

struct host {
	char name[HOST_NAME_SIZE];
	char address[256];		/* with the brackets of IPv6 */
	uint16_t port;
	uint8_t key[NODE_KEY_BYTES];
	char domain[HOST_NAME_SIZE];	/* "": the node itself */
};

struct hosts {
	struct host *host;		/* as in the file */
	unsigned int nr;
};

/*
 * hosts_parse() - the text of a file
 * @why: "line 7: ..." if it fails
 *
 * -EINVAL, -E2BIG (too many, too long), -ENOMEM; then @ret_hosts is untouched.
 */
int hosts_parse(const char *text, size_t len, struct hosts *ret_hosts, char *why, size_t size);
/*
 * The same from a file, whose name is in @why.  -ENOENT: there is none.  -EPERM: others than
 * root and we may write it.
 */
int hosts_load(const char *path, struct hosts *ret_hosts, char *why, size_t size);
void hosts_done(struct hosts *hosts);	/* zeroed is fine */

/* Index, or -ENOENT. */
int hosts_find(const struct hosts *hosts, const char *name);
int hosts_find_key(const struct hosts *hosts, const uint8_t key[NODE_KEY_BYTES]);

/* "ADDRESS[:PORT]" taken apart; -EINVAL.  @ret_address of 256 bytes. */
int host_address_parse(const char *text, char *ret_address, uint16_t *ret_port);
/* A name as NAME above? */
int host_name_check(const char *name);

#endif /* STILLPOINT_HOSTS_H */
