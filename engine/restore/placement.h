/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The NUMA nodes on which the memory of a process belongs.
 *
 * Without a policy a page is allocated on the node of the thread that writes it first. In a
 * restore that is a thread of ours, wherever it happens to run. So that thread takes the policy
 * of the program's own first thread; or, if that thread was bound to CPUs, prefers their nodes.
 * Mappings with a policy of their own need no placement: the kernel applies that policy.
 */
#ifndef STILLPOINT_PLACEMENT_H
#define STILLPOINT_PLACEMENT_H

#include "engine/core/state.h"

struct placement {
	uint32_t mode;		/* MPOL_* with MPOL_F_*; MPOL_DEFAULT: on the writer's node */
	uint64_t nodes[CKPT_NODES_MAX / 64];
};

struct placement placement_of(const struct state_mm *mm);
/* Make @placement the policy of the calling thread. Nodes that this machine lacks are ignored. */
void placement_take(const struct placement *placement);

#endif /* STILLPOINT_PLACEMENT_H */
