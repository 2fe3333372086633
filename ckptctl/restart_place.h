/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a job is restarted by a command that runs in a Slurm allocation, and which nodes of its
 * last run are known to be off.
 */
#ifndef STILLPOINT_RESTART_PLACE_H
#define STILLPOINT_RESTART_PLACE_H

#include "ckptctl/cli.h"

/*
 * restart_place_nodes() - restart on the nodes of this allocation
 *
 * Puts them as "nodes" into @args, unless those name nodes already, or this is no allocation.
 *
 * Return: an exit status, or 0.
 */
int restart_place_nodes(struct cli *cli, json_t *args);

/* restart_place_lost_nodes() - take @list, an option's value, as "lost_nodes" into @args */
int restart_place_lost_nodes(struct cli *cli, json_t *args, char *list);

/*
 * restart_place() - complete the arguments of the request restart of job @id
 * @args: "lost_nodes" is taken out, "node_lost" put in if it holds
 *
 * A job whose ranks were on several nodes gets the nodes of the allocation. ckptd is asked only if
 * something depends on the job. A job that ckptd does not know is left to the request.
 *
 * Return: an exit status, or 0.
 */
int restart_place(struct cli *cli, int64_t id, json_t *args);

#endif /* STILLPOINT_RESTART_PLACE_H */
