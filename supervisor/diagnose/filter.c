// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grouping of samples in one pass over them: a small table with open addressing, which grows with
 * the number of distinct places and not with that of threads. Neighbouring threads are mostly at
 * the same place, so the last group is tried first.
 */
#include "supervisor/diagnose/filter.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define FILTER_SLOTS	256

struct filter_table {
	struct filter_group *slot;	/* nr 0: free */
	size_t size, used;		/* a power of two; used at most half */
};

unsigned int filter_samples(uint64_t n, uint64_t k)
{
	double s;

	if (n < 2 || k < 2)
		return 2;
	s = floor(1 + log((double)n) / log((double)k)) + 1;
	return s < 2 ? 2 : (unsigned int)s;
}

/* The upper bits of a product depend on all bits of the place; an address's low bits are alike. */
static inline size_t filter_hash(const struct filter_table *t, uint64_t place)
{
	return (size_t)(place * 0x9e3779b97f4a7c15ull >> 32) & (t->size - 1);
}

static inline struct filter_group *filter_find(const struct filter_table *t, uint64_t place)
{
	size_t i = filter_hash(t, place);

	while (t->slot[i].nr && t->slot[i].place != place)
		i = (i + 1) & (t->size - 1);
	return &t->slot[i];
}

static int filter_grow(struct filter_table *t)
{
	struct filter_table bigger = { .size = t->size ? 2 * t->size : FILTER_SLOTS };

	bigger.slot = calloc(bigger.size, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	bigger.used = t->used;
	for (size_t i = 0; i < t->size; i++) {
		if (t->slot[i].nr)
			*filter_find(&bigger, t->slot[i].place) = t->slot[i];
	}
	free(t->slot);
	*t = bigger;
	return 0;
}

static int filter_order(const void *a, const void *b)
{
	const struct filter_group *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* The groups of the table, sorted, in its own memory. */
static long filter_end(struct filter_table *t, struct filter_group **ret_groups)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->size; i++) {
		if (t->slot[i].nr)
			t->slot[nr++] = t->slot[i];
	}
	qsort(t->slot, nr, sizeof(*t->slot), filter_order);
	*ret_groups = t->slot;
	return (long)nr;
}

static inline bool filter_is_steady(const uint64_t *row, unsigned int s)
{
	uint64_t differs = 0;

	for (unsigned int k = 1; k < s; k++)
		differs |= row[k] ^ row[0];
	return !differs && row[0];
}

/* The group of @place, new or not; NULL: no memory. */
static struct filter_group *filter_take(struct filter_table *t, uint64_t place, size_t first)
{
	struct filter_group *group = filter_find(t, place);

	if (group->nr)
		return group;
	if (2 * (t->used + 1) > t->size) {
		if (filter_grow(t))
			return NULL;
		group = filter_find(t, place);
	}
	t->used++;
	group->place = place;
	group->first = first;
	return group;
}

long filter_group(const uint64_t *places, size_t n, unsigned int s,
		  struct filter_group **ret_groups)
{
	struct filter_table t = { 0 };
	struct filter_group *last = NULL;

	if (filter_grow(&t))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint64_t *row = places + i * s;

		if (!filter_is_steady(row, s))
			continue;
		if (!last || last->place != row[0])
			last = filter_take(&t, row[0], i);
		if (!last) {
			free(t.slot);
			return -ENOMEM;
		}
		last->nr++;
	}
	return filter_end(&t, ret_groups);
}
