/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy-on-write sharing between two memory maps, decided from the image.
 *
 * A page has an identity: the map and address under which the image stores its data.  Two
 * pages at the same address in two maps with the same identity were one page that two
 * processes shared, and shall be that again.  Nothing is read or written here.
 */
#ifndef STILLPOINT_COW_H
#define STILLPOINT_COW_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/state.h"

/* A run of pages that a map has; owner and addr are the identity of its first page. */
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
	COW_SAME,	/* pages shared by both */
	COW_WRITE,	/* pages of the destination that the source lacks or has differently */
	COW_DROP,	/* pages of the source only */
};

/* Called for each piece of a mapping, in address order; not for pages that neither has. */
typedef int (*cow_fn)(enum cow_what what, uint64_t start, uint64_t end, void *arg);

int cow_compare(const struct cow_runs *dst, const struct cow_runs *src, uint64_t start,
		uint64_t end, cow_fn fn, void *arg);
/* How many bytes are the same pages in both. */
uint64_t cow_same(const struct cow_runs *dst, const struct cow_runs *src, uint64_t start,
		  uint64_t end);

/* Can pages of @vma be shared at all? */
bool cow_can_share(const struct state_vma *vma);
/* The mapping of @mm that could share most with @vma, or NULL. */
const struct state_vma *cow_twin(const struct state_mm *mm, const struct state_vma *vma);
/* The range that both mappings cover. */
void cow_common(const struct state_vma *a, const struct state_vma *b, uint64_t *ret_start,
		uint64_t *ret_end);

#endif /* STILLPOINT_COW_H */
