/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filling the memory maps of a tree from its image.
 *
 * Maps are filled one after the other, in ascending mm_id, by the thread that created the
 * struct; the threads of a filler (filler.h) do the writing.
 */
#ifndef STILLPOINT_RESTORE_MEMORY_H
#define STILLPOINT_RESTORE_MEMORY_H

#include "base/error.h"
#include "image/reader.h"
#include "engine/core/kdev.h"
#include "engine/core/plan.h"

struct keep_map;
struct restore_memory;

/* *ret_total: the most bytes that will be filled, for reports of progress */
int restore_memory_create(const struct state *state, struct image_reader *reader, struct kdev *dev,
		 struct ckpt_error *error, struct restore_memory **ret_m, uint64_t *ret_total);
void restore_memory_destroy(struct restore_memory *m);	/* NULL is fine */

/*
 * Fill one map, whose mappings must be there; call in ascending mm_id, so that maps can share
 * pages.  Threads do the work: the map may be half filled when this returns, and a failure may
 * be reported by a later call only.  @kept: of a rollback: pages of the map that are right already
 * (rollback_keep.h); NULL: the map is empty.
 */
int restore_memory_fill(struct restore_memory *m, const struct state_mm *mm,
			const struct keep_map *kept);
int restore_memory_finish(struct restore_memory *m);	/* wait until all maps are filled */
uint64_t restore_memory_bytes(const struct restore_memory *m);	/* written or shared so far */
uint64_t restore_memory_copied(const struct restore_memory *m);	/* from the kernel's snapshot */

#endif /* STILLPOINT_RESTORE_MEMORY_H */
