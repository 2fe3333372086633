/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filling the memory maps of a tree from its image.
 */
#ifndef STILLPOINT_RESTORE_MEMORY_H
#define STILLPOINT_RESTORE_MEMORY_H

#include "base/error.h"
#include "image/reader.h"
#include "engine/core/kdev.h"
#include "engine/core/plan.h"

struct restore_memory;

/* *ret_total: for progress; at most so many bytes are filled */
int restore_memory_create(const struct state *state, struct image_reader *reader, struct kdev *dev,
		 struct ckpt_error *error, struct restore_memory **ret_m, uint64_t *ret_total);
void restore_memory_destroy(struct restore_memory *m);	/* NULL is fine */

/*
 * Fill one map, whose mappings are there; ascending mm_id, so that maps can share.
 * Threads do it: it may be half filled when this returns, and what fails may be
 * told by a later call.
 */
int restore_memory_fill(struct restore_memory *m, const struct state_mm *mm);
int restore_memory_finish(struct restore_memory *m);	/* until all of them are filled */
uint64_t restore_memory_bytes(const struct restore_memory *m);	/* written or shared so far */

#endif /* STILLPOINT_RESTORE_MEMORY_H */
