/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image (or parity) that arrives as a stream (layout.h) and becomes a committed image in a
 * directory: the only place where levels/ commits an image.
 */
#ifndef STILLPOINT_LEVELS_ARRIVAL_H
#define STILLPOINT_LEVELS_ARRIVAL_H

#include "base/error.h"
#include "levels/layout.h"
#include "levels/level.h"

struct arrival {
	const char *dir;		/* the caller's */
	const struct layout *layout;	/* the caller's */
	struct image_writer *writer;
	struct image_wfile *file;	/* of layout file @at, while it is open */
	unsigned int at;
	uint64_t pos;			/* in the stream */
};

/* -EEXIST: there is something under that name; -EBUSY: somebody is writing it */
int arrival_begin(struct arrival *a, const char *dir, const struct layout *layout,
		  const struct level_writers *writers, struct ckpt_error *error);

/*
 * The next bytes of the stream: 4 MiB in a copy, a unit (parity.h) in a rebuild; @buf and,
 * but for the last, @len are multiples of 4096.
 */
int arrival_append(struct arrival *a, const void *buf, size_t len,
		   struct ckpt_error *error);

/*
 * arrival_commit() - make the arrived bytes an image
 *
 * Read back, every chunk authenticated, and checked to be @expect before it gets its
 * name; durable when this returns 0.
 */
int arrival_commit(struct arrival *a, const struct image_key *key,
		   const struct image_expect *expect, struct ckpt_error *error);

/* Remove every trace of an uncommitted arrival.  A zeroed @a is fine. */
void arrival_done(struct arrival *a);

#endif /* STILLPOINT_LEVELS_ARRIVAL_H */
