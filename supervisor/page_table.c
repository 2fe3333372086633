// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where shared pages were stored.
 *
 * An open-addressed table of 24 bytes per page (0.6 % of the memory it speaks
 * of), at most 70 % full, doubled when it fills.  The place of a page is packed
 * into one word: 36 bits of page number, 28 of memory map.  Nothing is deleted.
 */
#include "supervisor/page_table.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_SHIFT	12
#define MM_SHIFT	36
#define PAGE_BITS	((1ULL << MM_SHIFT) - 1)
#define FIRST_SIZE	4096U

struct entry {
	uint64_t cookie;
	uint64_t hash;
	uint64_t place;		/* 0: empty; memory maps count from 1 */
};

struct page_table {
	struct entry *entries;
	uint64_t size;		/* a power of two */
	uint64_t used;
};

struct page_table *page_table_create(void)
{
	struct page_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->size = FIRST_SIZE;
	t->entries = calloc(t->size, sizeof(*t->entries));
	if (!t->entries) {
		free(t);
		return NULL;
	}
	return t;
}

void page_table_destroy(struct page_table *t)
{
	if (!t)
		return;
	free(t->entries);
	free(t);
}

/* The entry of the page, or the empty one where it belongs. */
static struct entry *find(struct entry *entries, uint64_t size, uint64_t cookie)
{
	uint64_t at = (cookie * 0x9e3779b97f4a7c15ULL) >> 20;

	for (;; at++) {
		struct entry *entry = &entries[at & (size - 1)];

		if (!entry->place || entry->cookie == cookie)
			return entry;
	}
}

static int grow(struct page_table *t)
{
	struct entry *more = calloc(t->size * 2, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (uint64_t i = 0; i < t->size; i++)
		if (t->entries[i].place)
			*find(more, t->size * 2, t->entries[i].cookie) = t->entries[i];
	free(t->entries);
	t->entries = more;
	t->size *= 2;
	return 0;
}

int page_table_put(struct page_table *t, uint64_t cookie, const struct page_place *place,
		   struct page_place *ret_known)
{
	struct entry *entry = find(t->entries, t->size, cookie);

	if (place->addr >> (MM_SHIFT + PAGE_SHIFT))
		return 0;	/* has no room here: stored each time */
	if (entry->place) {
		ret_known->mm_id = entry->place >> MM_SHIFT;
		ret_known->addr = (entry->place & PAGE_BITS) << PAGE_SHIFT;
		ret_known->hash = entry->hash;
		return 1;
	}
	if (t->used * 10 >= t->size * 7) {
		if (grow(t))
			return -ENOMEM;
		entry = find(t->entries, t->size, cookie);
	}
	entry->cookie = cookie;
	entry->hash = place->hash;
	entry->place = place->mm_id << MM_SHIFT | place->addr >> PAGE_SHIFT;
	t->used++;
	return 0;
}

void page_table_note(struct page_table *t, uint64_t cookie, uint64_t hash)
{
	struct entry *entry = find(t->entries, t->size, cookie);

	if (entry->place)
		entry->hash = hash;
}
