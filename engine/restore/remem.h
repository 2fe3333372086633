/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filling the memory maps of a tree from its image.
 */
#ifndef STILLPOINT_REMEM_H
#define STILLPOINT_REMEM_H

#include "base/error.h"
#include "image/reader.h"
#include "engine/core/kdev.h"
#include "engine/restore/plan.h"

struct remem;

/* *ret_total: for progress; at most so many bytes are filled */
int remem_create(const struct state *state, struct image_reader *reader, struct kdev *dev,
		 struct ckpt_error *error, struct remem **ret_m, uint64_t *ret_total);
void remem_destroy(struct remem *m);	/* NULL is fine */

/*
 * Fill one map, whose mappings are there; ascending mm_id, so that maps can share.
 * Threads do it: it may be half filled when this returns, and what fails may be
 * told by a later call.
 */
int remem_fill(struct remem *m, const struct state_mm *mm);
int remem_finish(struct remem *m);	/* until all of them are filled */
uint64_t remem_bytes(const struct remem *m);	/* written or shared so far */

#endif /* STILLPOINT_REMEM_H */
