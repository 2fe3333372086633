/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Slurm allocation that ckptrun is in: its nodes, and how many ranks.
 */
#ifndef STILLPOINT_SLURM_H
#define STILLPOINT_SLURM_H

#include "ckptctl/cli.h"

/* Are we in one? */
bool slurm_is_here(void);
/*
 * slurm_place() - the nodes of the allocation into @ranks, "n" if there is none yet, and "map" where Slurm has
 * tasks for as many ranks as there shall be
 *
 * Returns an exit status, or 0.
 */
int slurm_place(struct cli *cli, json_t *ranks);

#endif /* STILLPOINT_SLURM_H */
