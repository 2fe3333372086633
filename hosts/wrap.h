/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A wrap: a key of 32 bytes on its way from one node to another, as text. Only the two nodes can
 * make and open it (crypto_box() of the nodes' key pairs, node_key.h), and it opens for its
 * purpose, its sender and its receiver alone: not for another job, and not when it is sent back.
 */
#ifndef STILLPOINT_WRAP_H
#define STILLPOINT_WRAP_H

#include <stdint.h>

#include "hosts/node_key.h"

#define WRAP_KEY_BYTES	32
#define WRAP_TEXT	141	/* base64 of 104 bytes, with the NUL */

/* 0, or -EINVAL: @to is no public key. */
int wrap_make(const uint8_t key[WRAP_KEY_BYTES], const char *purpose, const struct node_key *from,
	      const uint8_t to[NODE_KEY_BYTES], char ret_text[WRAP_TEXT]);

/*
 * -EINVAL: @text is no wrap. -EBADMSG: not made by the node @from for @to and @purpose, or
 * damaged. Wipe the key after use.
 */
int wrap_open(const char *text, const char *purpose, const uint8_t from[NODE_KEY_BYTES],
	      const struct node_key *to, uint8_t ret_key[WRAP_KEY_BYTES]);

#endif /* STILLPOINT_WRAP_H */
