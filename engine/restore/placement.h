/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which NUMA nodes the memory of a process belongs.
 *
 * Pages go where the thread runs that writes them first, if no policy says otherwise. In a restore
 * that is a thread of ours, wherever it happens to run, so it takes the policy that the
 * program's own first thread had, or if that was bound to CPUs prefers their nodes. Mappings with a
 * policy of their own are not its concern: the kernel knows it.
 */
#ifndef STILLPOINT_PLACEMENT_H
#define STILLPOINT_PLACEMENT_H

#include "engine/core/state.h"

struct placement {
	uint32_t mode;		/* MPOL_* with MPOL_F_*; MPOL_DEFAULT: where it is written */
	uint64_t nodes[CKPT_NODES_MAX / 64];
};

struct placement placement_of(const struct state_mm *mm);
/* The calling thread's from now on; nodes that are not here are left out, as if nobody had asked. */
void placement_take(const struct placement *placement);

#endif /* STILLPOINT_PLACEMENT_H */
