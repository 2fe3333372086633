/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy-on-write sharing between two memory maps, decided from the image.
 *
 * Pages have an identity (the map and address where the image stores them).  Two
 * mappings of the same address whose pages have the same identity were one page
 * with two owners, and shall be that again.  Nothing is read or written here.
 */
#ifndef STILLPOINT_COW_H
#define STILLPOINT_COW_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/state.h"

/* Pages that a map has, with what identifies the first of them. */
struct cow_run {
	uint64_t start;
	uint64_t end;
	uint64_t owner;
	uint64_t addr;
};

struct cow_runs {
	struct cow_run *runs;	/* ascending; owned */
	unsigned int nr;
	unsigned int room;
};

int cow_runs_add(struct cow_runs *runs, const struct cow_run *run);
void cow_runs_done(struct cow_runs *runs);

enum cow_what {
	COW_SAME,	/* one page */
	COW_WRITE,	/* the destination's own, or not in the source */
	COW_DROP,	/* in the source only */
};

/* Pieces of a mapping in address order; nobody's pages are not reported. */
typedef int (*cow_fn)(enum cow_what what, uint64_t start, uint64_t end, void *arg);

int cow_compare(const struct cow_runs *dst, const struct cow_runs *src, uint64_t start,
		uint64_t end, cow_fn fn, void *arg);
/* Bytes that are the same in both. */
uint64_t cow_same(const struct cow_runs *dst, const struct cow_runs *src, uint64_t start,
		  uint64_t end);

/* Can pages of @vma be shared at all? */
bool cow_can_share(const struct state_vma *vma);
/* The mapping of @mm that could share most with @vma, or NULL. */
const struct state_vma *cow_twin(const struct state_mm *mm, const struct state_vma *vma);
/* The range of both. */
void cow_common(const struct state_vma *a, const struct state_vma *b, uint64_t *ret_start,
		uint64_t *ret_end);

#endif /* STILLPOINT_COW_H */
