/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Can a frozen tree be given the state of an image in place?
 *
 * Compares two models and touches nothing else. Whatever a rollback does not set must be equal:
 * which processes and threads there are, who they are, what they share, their limits, directories,
 * rights and scheduling.
 */
#ifndef STILLPOINT_ROLLBACK_COMPARE_H
#define STILLPOINT_ROLLBACK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/core/state.h"

/*
 * True if @now can become @image; else @why (@size bytes) is the first difference, for people.
 * @ranks: the tree has MPI ranks: the caller ends threads that the image lacks, and makes /dev/shm
 * anew
 */
bool rollback_compare(const struct state *image, const struct state *now, bool ranks, char *why,
		      size_t size);

/* The same NUMA policy, or both none (NULL)? */
bool rollback_same_policy(const struct ckpt_rec_mempolicy *a, const struct ckpt_rec_mempolicy *b);

#endif /* STILLPOINT_ROLLBACK_COMPARE_H */
