/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sinks for contents: pages of memory maps, contents of files.
 *
 * There are two sinks: the image, and a hold in memory.  Contents that must be read
 * while the tree stands still go to the hold, as nothing slower than memory may be
 * waited for then; after the thaw they go on to the image.  Contents that may be read
 * later go to the image at once.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct content;

struct content_ops {
	int (*room)(struct content *c, size_t want, void **ret_buf, size_t *ret_len);
	int (*pages)(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		     const void *data);
	int (*begin)(struct content *c, uint64_t blob, bool in_pages);
	int (*data)(struct content *c, uint64_t offset, const void *data, size_t len);
	int (*end)(struct content *c, uint64_t size);
};

struct content {
	const struct content_ops *ops;
	uint64_t bytes;		/* handed over so far; a hold counts anew when it is emptied */
};

#define CONTENT_ROOM	(4UL << 20)	/* a good size to ask for */

/* Get room for the next bytes: at least a page, at most @want bytes, page aligned. */
int content_room(struct content *c, size_t want, void **ret_buf, size_t *ret_len);
int content_pages(struct content *c, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		  const void *data);
/* One blob at a time. @in_pages: as of image_blob_in_pages() */
int content_begin(struct content *c, uint64_t blob, bool in_pages);
int content_data(struct content *c, uint64_t offset, const void *data, size_t len);
int content_end(struct content *c, uint64_t size);

/* A sink that writes straight into the image. */
int content_image_create(struct image *img, struct content **ret_content);
/* A sink that holds contents in memory. */
int content_hold_create(struct content **ret_content);
void content_destroy(struct content *c);	/* NULL is fine; frees the memory held */

/*
 * Hand over to @to all that the hold holds, and free its memory on the way.  A blob that is
 * begun and not ended goes over, too: it goes on in @to.
 */
int content_hold_replay(struct content *hold, struct content *to);

#endif /* STILLPOINT_CONTENT_H */
