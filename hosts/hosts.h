/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hosts file: which nodes there are, their addresses, and the keys by which they are
 * known. All nodes have the same file.
 *
 *	file    := line*
 *	line    := blanks [NAME blanks ADDRESS[:PORT] blanks KEY (blanks OPTION)*]
 *		   [blanks] ["#" text] "\n"
 *	OPTION  := "domain=" DOMAIN | "root=" ("yes" | "no")
 *	NAME    := as `node` of ckptd.conf: letters, digits, "._-", at most 63
 *	ADDRESS := IPv4 address, host name, or [IPv6 address]
 *	KEY     := public key of the node, base64 (node_key.h)
 *	DOMAIN  := a failure domain that takes the node with it, a rack or a switch; as NAME
 *
 * "root=yes" lets the node's root start processes of root on the other nodes, and lets its jobs
 * have groups that their user has not there.
 *
 * `ckptctl keygen` prints a node's line. A name or a key that appears twice is an error.
 */
#ifndef STILLPOINT_HOSTS_H
#define STILLPOINT_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
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
	char domain[HOST_NAME_SIZE];	/* "": only the node itself */
	bool root;			/* root there may be root here */
};

struct hosts {
	struct host *host;		/* in the order of the file */
	unsigned int nr;
};

/*
 * hosts_parse() - parse the text of a hosts file
 * @error: its text is "line 7: ..."
 *
 * -EINVAL, -E2BIG (too many nodes, or too long), -ENOMEM; @ret_hosts is then unchanged.
 */
int hosts_parse(const char *text, size_t len, struct hosts *ret_hosts, struct ckpt_error *error);
/*
 * Read and parse a file, whose name is in the text of @error. -ENOENT: there is no such file.
 * -EPERM: users other than root and the caller may write it.
 */
int hosts_load(const char *path, struct hosts *ret_hosts, struct ckpt_error *error);
void hosts_done(struct hosts *hosts);	/* zeroed is fine */

/* The index of a node, or -ENOENT. */
int hosts_find(const struct hosts *hosts, const char *name);
int hosts_find_key(const struct hosts *hosts, const uint8_t key[NODE_KEY_BYTES]);

/* Split "ADDRESS[:PORT]"; -EINVAL. @ret_address has 256 bytes. */
int host_address_parse(const char *text, char *ret_address, uint16_t *ret_port);
/* Check a node name against NAME above; 0 or -EINVAL. */
int host_name_check(const char *name);

#endif /* STILLPOINT_HOSTS_H */
