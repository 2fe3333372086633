// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of a restart that a checkpoint does not have: places for ranks, and the
 * rule for a restart whose root died.
 *
 * A restart is the second machine of coord_table.c: PLACE, FETCH, CREATE, CONNECT, GO,
 * LIVE.
 * Its nodes are those that shall have ranks and those that had ranks before.  So a node
 * that does not answer, and is not declared dead, stops the restart at PLACE: the job's
 * ranks may still run there.  Any failure kills the created processes on all nodes, and
 * no other attempt begins before every living node has reported that they are dead.
 * Images are only read.
 */
#include "coord/coord_priv.h"

/*
 * A restart stands if any living node has it on disk as live.  Otherwise it is undone, even
 * if all ranks ran: its root may have given it up, and told so, before it died.
 * Ranks may be missing in a restart that stands, or in a job that was started and not
 * restarted (generation 0).  The job has lost them; that is not handled here.
 */
struct coord_id coord_restart_torn(const struct coord_report *report)
{
	if (id_equal(report->run_max, report->live) || !report->run_max.generation)
		return (struct coord_id){ 0 };
	return report->run_max;
}

int coord_place(uint32_t nr_ranks, uint32_t nr_nodes, const uint32_t *slots,
		uint32_t *ret_node_of)
{
	uint64_t total = 0, used = 0;
	uint32_t node, rank = 0, willing = 0;

	for (node = 0; node < nr_nodes; node++) {
		willing += !slots || slots[node];
		total += slots ? slots[node] : nr_ranks;
	}
	if (!willing || !nr_ranks)
		return -EINVAL;
	if (total < nr_ranks)
		return -ENOSPC;
	/* each node gets ranks in proportion to its slots; @end is the first rank after its own */
	for (node = 0; node < nr_nodes; node++) {
		uint64_t end;

		used += slots ? slots[node] : nr_ranks;
		end = (used * nr_ranks + total - 1) / total;
		while (rank < end && rank < nr_ranks)
			ret_node_of[rank++] = node;
	}
	return 0;
}
