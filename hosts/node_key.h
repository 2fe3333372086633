/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node's key pair (CURVE25519), by which other nodes know it.
 *
 * The secret is in a file on its node alone; the public half is in the hosts file of every
 * node (hosts.h). As text each is base64, 44 characters. Do not confuse it with the key of
 * images (image/key.h), which all nodes share.
 */
#ifndef STILLPOINT_NODE_KEY_H
#define STILLPOINT_NODE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define NODE_KEY_DEFAULT	"/etc/stillpoint/node.key"
#define NODE_KEY_BYTES	32
#define NODE_KEY_TEXT	45	/* with the NUL */

struct node_key {
	uint8_t secret[NODE_KEY_BYTES];
	uint8_t public[NODE_KEY_BYTES];
};

void node_key_text(const uint8_t bytes[NODE_KEY_BYTES], char ret_text[NODE_KEY_TEXT]);
/* -EINVAL: not exactly 44 characters of base64. */
int node_key_parse(const char *text, uint8_t ret_bytes[NODE_KEY_BYTES]);

/* Refuses a file that others may read (-EPERM). Wipe the key after use. */
int node_key_load(const char *path, struct node_key *ret_key, struct ckpt_error *error);
/*
 * Make a new key in a file of mode 0600; durable. -EEXIST if the file exists, unless
 * @replace. A crash leaves the old file, none, or the whole new one.
 */
int node_key_create(const char *path, bool replace, struct node_key *ret_key,
		    struct ckpt_error *error);
void node_key_wipe(struct node_key *key);

#endif /* STILLPOINT_NODE_KEY_H */
