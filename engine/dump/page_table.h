/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where shared pages were stored: cookie → (memory map, address).
 */
#ifndef STILLPOINT_PAGE_TABLE_H
#define STILLPOINT_PAGE_TABLE_H

#include <stdint.h>

struct page_table;

struct page_place {
	uint64_t mm_id;
	uint64_t addr;
	uint64_t hash;		/* of its content; 0: nobody took it */
};

struct page_table *page_table_create(void);	/* NULL without memory */
void page_table_destroy(struct page_table *t);	/* NULL is fine */

/**
 * page_table_put() - find a page, or remember it
 * Where a cookie was seen first is what counts; whether the page that has it now
 * holds the same is for the caller to find out.
 *
 * Return: 1: known, and where; 0: it was not, and is now; -ENOMEM.
 */
int page_table_put(struct page_table *t, uint64_t cookie, const struct page_place *place,
		   struct page_place *ret_known);
/* The hash of what is known, for the next one who asks. */
void page_table_note(struct page_table *t, uint64_t cookie, uint64_t hash);

#endif /* STILLPOINT_PAGE_TABLE_H */
