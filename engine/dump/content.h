/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where contents go: pages of memory maps, contents of files.
 *
 * Two places: the image, and a hold in memory.  What must be read while the tree
 * stands still goes to the hold (memory is all we may wait for then) and from
 * there to the image after the thaw; what may be read later goes to the image at
 * once.  A pre-copy before the freeze will be a third.
 *
 * A producer asks for room, fills it, and hands over what it filled, in order:
 *
 *	content_room(c, want, &buf, &len);		len >= 4096
 *	… read into buf …
 *	content_pages(c, mm_id, addr, nr, buf);		or content_data(), data within
 *							the room, ascending
 */
#ifndef STILLPOINT_CONTENT_H
#define STILLPOINT_CONTENT_H

#include <stddef.h>
#include <stdint.h>

struct image;
struct content;

struct content_ops {
	int (*room)(struct content *c, size_t want, void **ret_buf, size_t *ret_len);
	int (*pages)(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		     const void *data);
	int (*begin)(struct content *c, uint64_t blob);
	int (*data)(struct content *c, uint64_t offset, const void *data, size_t len);
	int (*end)(struct content *c, uint64_t size);
};

struct content {
	const struct content_ops *ops;
	uint64_t bytes;		/* handed over so far; to a hold: since it was emptied */
};

#define CONTENT_ROOM	(4UL << 20)	/* a good thing to want */

/* At least a page and at most want bytes, page aligned. */
int content_room(struct content *c, size_t want, void **ret_buf, size_t *ret_len);
int content_pages(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		  const void *data);
int content_begin(struct content *c, uint64_t blob);	/* one blob at a time */
int content_data(struct content *c, uint64_t offset, const void *data, size_t len);
int content_end(struct content *c, uint64_t size);

/* Straight into the image. */
int content_image_create(struct image *img, struct content **ret_content);
/* In memory. */
int content_hold_create(struct content **ret_content);
void content_destroy(struct content *c);	/* NULL is fine; returns the memory */

/* Hand over to @to what the hold holds, giving the memory back on the way; a blob may be begun. */
int content_hold_replay(struct content *hold, struct content *to);

#endif /* STILLPOINT_CONTENT_H */
