/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds pages that are equal to pages stored before, which need not be stored again.
 * Memory: SAME_ENTRIES * 24 bytes and SAME_READ pages, 3.3 MiB.
 */
#ifndef STILLPOINT_IMAGE_SAME_H
#define STILLPOINT_IMAGE_SAME_H

#include <stdbool.h>
#include <stdint.h>

#include "image/extent.h"
#include "image/writer.h"

#define SAME_ENTRIES	(1U << 17)	/* one page in eight: 4 GiB, then the oldest go */
#define SAME_MIN	32U		/* fewer pages in a row are not worth it */
#define SAME_READ	64U		/* pages read again at once */

struct same;

/* Pages of a memory map, those of a call to same_find(). */
struct same_pages {
	uint64_t mm_id;
	uint64_t addr;
	uint64_t nr;
	const uint8_t *data;
};

/* Pages [first, first + nr) are equal to the stored pages from @where on. */
struct same_match {
	uint64_t first;
	uint64_t nr;
	uint64_t where;
};

struct same *same_create(image_reread_fn reread, void *arg);	/* NULL without memory */
void same_destroy(struct same *s);				/* NULL is fine */

/*
 * same_find() - the first stretch of @pages that is stored already
 * @t: what was stored so far.  Pages before the match, and all if there is none,
 *	are to be stored before the next call.
 */
bool same_find(struct same *s, const struct extent_table *t, const struct same_pages *pages,
	       struct same_match *ret_match);

#endif /* STILLPOINT_IMAGE_SAME_H */
