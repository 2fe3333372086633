/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes that are taken out of use and whose batch jobs shall move away. Slurm's record of the node
 * is the only state: it is drained, and its reason begins with DRAIN_REASON. Nodes that are drained
 * for another reason are somebody else's: their jobs stay, and nobody here puts them to use again.
 */
#ifndef STILLPOINT_SLURM_DRAIN_H
#define STILLPOINT_SLURM_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRAIN_REASON	"CKPT:"
#define DRAIN_NAME	64
#define DRAIN_WHY	512

/*
 * drain_is_wanted() - shall the batch job @id leave one of its nodes
 * @ret_node: the first such node
 *
 * Asks slurmctld for each node of the job, or for all nodes if the job has many: not for each look.
 * False also if slurmctld does not answer.
 */
bool drain_is_wanted(uint32_t id, char ret_node[DRAIN_NAME]);

/*
 * drain_begin() - drain @nodes, "n1,n[3-5]", for the reason "DRAIN_REASON @reason"
 * @why: why not, at least DRAIN_WHY bytes
 *
 * Nothing is changed if one of them is drained for another reason, or if there is no such node.
 *
 * Return: 0, or a negative errno with @why.
 */
int drain_begin(const char *nodes, const char *reason, char why[DRAIN_WHY]);

/* Put @nodes to use again, of which all have to be drained by drain_begin(); as that returns. */
int drain_end(const char *nodes, char why[DRAIN_WHY]);

#endif /* STILLPOINT_SLURM_DRAIN_H */
