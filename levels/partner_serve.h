/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other end of a partner's level (partner.h): serves one connection, from the owner's
 * directory in this node's store, until the client goes.  With @locate images outside the
 * store are served: they can be read and nothing else.
 *
 * Runs in a process of its own and may wait; bounded by the waits of partner_link.h and
 * by session_ms between two requests.  Memory: 2 MiB, and what reading an image takes.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_SERVE_H
#define STILLPOINT_LEVELS_PARTNER_SERVE_H

#include "base/error.h"
#include "levels/partner_room.h"
#include "levels/partner_wire.h"

#define PARTNER_SESSION_MS	600000

/**
 * struct partner_serve_options
 * @dir: of the store; owner's images are in DIR/OWNER
 * @owner: a node's name
 * @max_bytes: of all images in the store; 0: as many as fit
 * @coming: NULL: this is the only connection
 * @ready: true if the store is there, asked when a connection opens it; NULL: always there
 * @locate: path of the image of that name, to be freed, or -ENOENT; NULL: serve the store
 * @arg: of both
 * @idle_ms, @session_ms: 0: PARTNER_IDLE_MS, PARTNER_SESSION_MS
 */
struct partner_serve_options {
	const char *dir;
	const char *owner;
	const char *client;		/* name of the node, for messages */
	bool read_only;
	bool plain;
	const struct image_key *key;
	uint64_t max_bytes;
	const struct partner_coming *coming;
	int (*ready)(void *arg, struct ckpt_error *error);
	int (*locate)(const char *name, void *arg, char **ret_dir);
	void *arg;
	unsigned int idle_ms;
	unsigned int session_ms;
	const struct level_writers *writers;	/* for tests; may be NULL */
};

/*
 * partner_serve() - until the client closes the connection, which is 0
 * @fd: taken over
 * @hello: has been received, and its ticket has been used up
 */
int partner_serve(int fd, const struct partner_hello *hello,
		  const uint8_t token[PARTNER_TOKEN_BYTES],
		  const struct partner_serve_options *options, struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_PARTNER_SERVE_H */
