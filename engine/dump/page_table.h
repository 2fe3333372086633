/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A table of the places at which shared pages were stored: cookie → (memory map, address).
 *
 * It holds no pages and only grows; one thread uses it.  See dump_store.c for its use: a
 * cookie is a hint, so the contents of two pages must be compared, too.
 */
#ifndef STILLPOINT_PAGE_TABLE_H
#define STILLPOINT_PAGE_TABLE_H

#include <stdint.h>

struct page_table;

struct page_place {
	uint64_t mm_id;
	uint64_t addr;
	uint64_t hash;		/* of its content; 0: not hashed yet */
};

struct page_table *page_table_create(void);	/* NULL without memory */
void page_table_destroy(struct page_table *t);	/* NULL is fine */

/**
 * page_table_put() - find the page with this cookie, or remember it at @place
 *
 * The table keeps the place where a cookie was seen first.  The caller has to find out
 * whether the page that has the cookie now has the same content.
 *
 * Return: 1: known, at *ret_known; 0: not known before; -ENOMEM.
 */
int page_table_put(struct page_table *t, uint64_t cookie, const struct page_place *place,
		   struct page_place *ret_known);
/* Set the hash of a known page. */
void page_table_note(struct page_table *t, uint64_t cookie, uint64_t hash);

#endif /* STILLPOINT_PAGE_TABLE_H */
