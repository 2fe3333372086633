/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Slurm allocation that ckptrun is in: its nodes, and how many ranks.
 */
#ifndef STILLPOINT_SLURM_H
#define STILLPOINT_SLURM_H

#include "ckptctl/cli.h"

/* True if this process runs in a Slurm allocation. */
bool slurm_is_here(void);
/*
 * slurm_place() - put the allocation's nodes into @ranks
 *
 * Also "n" if @ranks has none yet, and "map" if Slurm has as many tasks as the job has ranks.
 *
 * Returns an exit status, or 0.
 */
int slurm_place(struct cli *cli, json_t *ranks);

/* Put the allocation's nodes as "nodes" into @args; an exit status, or 0. */
int slurm_nodes(struct cli *cli, json_t *args);

#endif /* STILLPOINT_SLURM_H */
