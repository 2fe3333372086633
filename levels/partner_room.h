/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room in a store (partner_serve.h), its limit, and what takes room for nothing.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_ROOM_H
#define STILLPOINT_LEVELS_PARTNER_ROOM_H

#include <stdatomic.h>

#include "base/error.h"
#include "levels/level.h"

/*
 * What is on its way into one store: an entry for each connection that is served, in
 * memory that all who serve share.  NULL instead of it: nobody else is served.
 */
struct partner_coming {
	_Atomic uint64_t *bytes;
	unsigned int nr;
	unsigned int self;		/* this connection's */
};

/* An image of @bytes is about to come: -EDQUOT; @max 0: no limit. */
int partner_room_take(const char *store, uint64_t max, const struct partner_coming *coming,
		      uint64_t bytes, struct ckpt_error *error);
/* It has come, or does not any more. */
void partner_room_give(const struct partner_coming *coming);

/*
 * partner_room_sweep() - remove what sessions left that were killed
 *
 * In directories that are owners' by their markers, and nothing that somebody writes just now.  How many, or
 * the first error; the others are swept all the same.
 */
int partner_room_sweep(const char *store, struct ckpt_error *error);

/* What the limit leaves of @space. */
int partner_room_space(const char *store, uint64_t max, const struct partner_coming *coming,
		       struct level_space *space, struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_PARTNER_ROOM_H */
