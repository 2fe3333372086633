/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The batch job of Slurm that this process belongs to: what Slurm plans for it, and its requeue.
 */
#ifndef STILLPOINT_SLURM_BATCH_H
#define STILLPOINT_SLURM_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/**
 * struct batch_plan - what slurmctld says about a running job
 * @preempted: the job has been chosen for preemption, and its grace time runs
 * @requeue: Slurm requeues the job if it is asked to
 * @end: when the time limit is reached; 0: there is no limit
 * @limit: the time limit in seconds; 0: none
 */
struct batch_plan {
	bool preempted;
	bool requeue;
	time_t end;
	int64_t limit;
};

/*
 * batch_ask() - ask slurmctld about the job @id
 *
 * Return: 0, or a negative errno: -EAGAIN while slurmctld does not answer, -ESRCH if it does not
 * know the job or the job does not run.
 */
int batch_ask(uint32_t id, struct batch_plan *ret_plan);

/*
 * batch_requeue() - put the job @id back into Slurm's queue, which ends all of its processes
 * @ret_why: Slurm's words for a failure; lives as long as the process
 *
 * Return: 0, or -EPERM with *@ret_why.
 */
int batch_requeue(uint32_t id, const char **ret_why);

#endif /* STILLPOINT_SLURM_BATCH_H */
