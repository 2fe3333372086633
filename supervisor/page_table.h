/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where shared pages were stored: cookie → (memory map, address).
 */
#ifndef STILLPOINT_PAGE_TABLE_H
#define STILLPOINT_PAGE_TABLE_H

#include <stdint.h>

struct page_table;

struct page_table *page_table_create(void);	/* NULL without memory */
void page_table_destroy(struct page_table *t);	/* NULL is fine */

/**
 * page_table_put() - find a page, or remember it
 * @hash: of its content; a page with another content is another page
 *
 * Return: 1: known, and where; 0: it was not, and is now; -ENOMEM.
 */
int page_table_put(struct page_table *t, uint64_t cookie, uint64_t hash, uint64_t mm_id,
		   uint64_t addr, uint64_t *ret_mm_id, uint64_t *ret_addr);

#endif /* STILLPOINT_PAGE_TABLE_H */
