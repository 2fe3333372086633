/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room in a store (partner_serve.h): its limit, and the removal of leftovers.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_ROOM_H
#define STILLPOINT_LEVELS_PARTNER_ROOM_H

#include <stdatomic.h>

#include "base/error.h"
#include "levels/level.h"

/*
 * Bytes of images on their way into one store: an entry for each connection that is served,
 * in memory that all serving processes share.  NULL instead of it: there is one connection.
 */
struct partner_coming {
	_Atomic uint64_t *bytes;
	unsigned int nr;
	unsigned int self;		/* this connection's */
};

/* Announce an incoming image of @bytes.  -EDQUOT: over the limit; @max 0: no limit. */
int partner_room_take(const char *store, uint64_t max, const struct partner_coming *coming,
		      uint64_t bytes, struct ckpt_error *error);
/* End the announcement: the image has arrived, or will not arrive. */
void partner_room_give(const struct partner_coming *coming);

/*
 * partner_room_sweep() - remove incomplete images of sessions that were killed
 *
 * Only in directories that are owners' by their markers; an image that is being written stays.
 *
 * Return: how many were removed, or the first error; other directories are swept all the same.
 */
int partner_room_sweep(const char *store, struct ckpt_error *error);

/* Reduce @space to the room that the limit leaves. */
int partner_room_space(const char *store, uint64_t max, const struct partner_coming *coming,
		       struct level_space *space, struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_PARTNER_ROOM_H */
