/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A checkpoint of a job, whoever wants it: a request (verbs_checkpoint.c) or ckptd itself
 * (schedule.h).  Of one that one dump saves (job_dump.h), and of one whose MPI ranks have to
 * be quiesced for it (coord_driver.h).
 */
#ifndef STILLPOINT_JOB_CHECKPOINT_H
#define STILLPOINT_JOB_CHECKPOINT_H

#include "supervisor/job/jobs.h"

/* Options and callbacks are in job_ops.h: the schedule begins checkpoints through that table. */

/*
 * job_checkpoint_start() - begin one
 *
 * NULL: ended() will be called; else an outcome says why not, and it will not be.
 */
json_t *job_checkpoint_start(struct job *job, const struct job_checkpoint_options *options,
			     const struct job_checkpoint_ops *ops, void *arg);

#endif /* STILLPOINT_JOB_CHECKPOINT_H */
