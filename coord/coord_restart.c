// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a restart has that a checkpoint has not: places for ranks, and the rule for
 * a restart whose root died.
 *
 * A restart is the second machine of coord_table.c: PLACE, FETCH, CREATE, CONNECT, GO,
 * LIVE.
 * Its nodes are those that shall have ranks and those that had some, so that
 * one that does not answer, and is not declared dead, stops it at PLACE: the
 * job's ranks may still run there.  Any failure kills what was made, everywhere, and
 * no other attempt begins before every living node said so.  Images are only read.
 */
#include "coord/coord_priv.h"

/*
 * A restart stands if anybody has on disk that it does, and is undone else, even if ranks
 * went everywhere: its root may have given it up, and said so, before it died.
 * Ranks that are missing in one that stands, or in a job that was started and not
 * restarted (generation 0), are the job's loss, with which we have nothing to do here.
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
	/* shares of what each can take: the node's end is its share of all ranks */
	for (node = 0; node < nr_nodes; node++) {
		uint64_t end;

		used += slots ? slots[node] : nr_ranks;
		end = (used * nr_ranks + total - 1) / total;
		while (rank < end && rank < nr_ranks)
			ret_node_of[rank++] = node;
	}
	return 0;
}
