/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A step of Slurm's on the other nodes of a job, in which the job's ranks of these nodes stand.
 *
 * The step has one process on each node, which sleeps and ignores signals. ckptd finds it there,
 * and puts the ranks beside it: into the step's control groups, under its limits
 * (supervisor/parts/stand.h). A holder, a process in the background of this node, has started the
 * step by srun and ends it when the job has ended, whatever becomes of the caller meanwhile. Where
 * the holder itself is killed, Slurm ends the step with the batch job.
 *
 * Call order: slurm_step_open(), then the request that starts or restarts the job, then
 * slurm_step_close() in any case.
 */
#ifndef STILLPOINT_SLURM_STEP_H
#define STILLPOINT_SLURM_STEP_H

#include "ckptctl/cli.h"

/**
 * struct slurm_step - a step and its holder
 * @holder: socket to the holder; -1: there is no step
 */
struct slurm_step {
	int holder;
};

/*
 * slurm_step_open() - start a step on the nodes of a job, if this is a Slurm allocation
 * @nodes: names of the job's nodes, of which the first is this one; NULL: this one alone
 * @key: names the job: "job N" of one that is restarted, or the value of RANKS_STEP_KEY
 *	(shim/ranks.h) in the environment of one that is started
 *
 * The step has the nodes that are the allocation's as well. Waits until its processes run. Without
 * success the user is told why, and @ret_step has no step: each node decides whether it takes
 * ranks all the same.
 */
void slurm_step_open(struct cli *cli, const json_t *nodes, const char *key,
		     struct slurm_step *ret_step);

/*
 * slurm_step_close() - leave the step to its holder
 * @job: the job that runs in it; 0: none does, the step ends now
 */
void slurm_step_close(struct slurm_step *step, int64_t job);

#endif /* STILLPOINT_SLURM_STEP_H */
