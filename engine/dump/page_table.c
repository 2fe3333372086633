// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where shared pages were stored: cookie → (memory map, address).
 *
 * An open-addressed table of 24 bytes per page, at most 70 % full: 0.8 to 1.7 % of the memory
 * whose pages it knows.  It is cut into segments by the upper bits of the hash.  A segment
 * that fills is doubled by itself, so that only one segment, not the whole table, exists
 * twice while it grows.  The place of a page is packed into one word: 36 bits of page number,
 * 28 of memory map.  Nothing is deleted.
 */
#include "engine/dump/page_table.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_SHIFT	12
#define MM_SHIFT	36
#define PAGE_BITS	((1ULL << MM_SHIFT) - 1)
#define SEGMENT_BITS	8
#define NR_SEGMENTS	(1U << SEGMENT_BITS)
#define FIRST_SIZE	16U	/* entries of a segment */

struct entry {
	uint64_t cookie;
	uint64_t hash;
	uint64_t place;		/* 0: empty; memory maps count from 1 */
};

struct segment {
	struct entry *entries;
	uint64_t size;		/* a power of two; 0: none yet */
	uint64_t used;
};

struct page_table {
	struct segment segments[NR_SEGMENTS];
};

struct page_table *page_table_create(void)
{
	return calloc(1, sizeof(struct page_table));
}

void page_table_destroy(struct page_table *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < NR_SEGMENTS; i++)
		free(t->segments[i].entries);
	free(t);
}

static uint64_t page_table_hash(uint64_t cookie)
{
	return cookie * 0x9e3779b97f4a7c15ULL;
}

static struct segment *segment_of(struct page_table *t, uint64_t cookie)
{
	return &t->segments[page_table_hash(cookie) >> (64 - SEGMENT_BITS)];
}

/* The entry of the page, or the empty one where it belongs; NULL: the segment has no entries. */
static struct entry *page_table_find(const struct segment *s, uint64_t cookie)
{
	uint64_t at = page_table_hash(cookie) >> 20;

	for (; s->size; at++) {
		struct entry *entry = &s->entries[at & (s->size - 1)];

		if (!entry->place || entry->cookie == cookie)
			return entry;
	}
	return NULL;
}

static int page_table_grow(struct segment *s)
{
	struct segment more = { .size = s->size ? s->size * 2 : FIRST_SIZE, .used = s->used };

	more.entries = calloc(more.size, sizeof(*more.entries));
	if (!more.entries)
		return -ENOMEM;
	for (uint64_t i = 0; i < s->size; i++)
		if (s->entries[i].place)
			*page_table_find(&more, s->entries[i].cookie) = s->entries[i];
	free(s->entries);
	*s = more;
	return 0;
}

int page_table_put(struct page_table *t, uint64_t cookie, const struct page_place *place,
		   struct page_place *ret_known)
{
	struct segment *s = segment_of(t, cookie);
	struct entry *entry = page_table_find(s, cookie);

	if (place->addr >> (MM_SHIFT + PAGE_SHIFT))
		return 0;	/* the address needs more bits: such a page is stored each time */
	if (entry && entry->place) {
		ret_known->mm_id = entry->place >> MM_SHIFT;
		ret_known->addr = (entry->place & PAGE_BITS) << PAGE_SHIFT;
		ret_known->hash = entry->hash;
		return 1;
	}
	if (s->used * 10 >= s->size * 7) {
		if (page_table_grow(s))
			return -ENOMEM;
		entry = page_table_find(s, cookie);
	}
	entry->cookie = cookie;
	entry->hash = place->hash;
	entry->place = place->mm_id << MM_SHIFT | place->addr >> PAGE_SHIFT;
	s->used++;
	return 0;
}

void page_table_note(struct page_table *t, uint64_t cookie, uint64_t hash)
{
	struct entry *entry = page_table_find(segment_of(t, cookie), cookie);

	if (entry && entry->place)
		entry->hash = hash;
}
