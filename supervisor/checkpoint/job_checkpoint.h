/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A checkpoint of a job, for a request (verbs_checkpoint.c) or for ckptd's own schedule
 * (schedule.h).  One dump saves a job without MPI (job_dump.h); the MPI ranks of other jobs are
 * quiesced first (coord_driver.h).
 */
#ifndef STILLPOINT_JOB_CHECKPOINT_H
#define STILLPOINT_JOB_CHECKPOINT_H

#include "supervisor/job/jobs.h"

/* Options and callbacks are in job_ops.h: the schedule begins checkpoints through that table. */

/*
 * job_checkpoint_start() - begin a checkpoint of @job
 *
 * Return: NULL if @ops->ended() will be called; else an outcome that says why not, and ended()
 * will not be called.
 */
json_t *job_checkpoint_start(struct job *job, const struct job_checkpoint_options *options,
			     const struct job_checkpoint_ops *ops, void *arg);

#endif /* STILLPOINT_JOB_CHECKPOINT_H */
