/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A checkpoint of a job, whoever wants it: a request (verbs_checkpoint.c) or ckptd itself
 * (schedule.h).  Of one that one dump saves (job_dump.h), and of one whose MPI ranks have to
 * be quiesced for it (coord_driver.h).
 */
#ifndef STILLPOINT_JOB_CHECKPOINT_H
#define STILLPOINT_JOB_CHECKPOINT_H

#include "supervisor/job/jobs.h"

struct job_checkpoint_options {
	bool kill;
	bool dry_run;
	bool stop_and_copy;
	bool full, incremental;	/* whatever is configured; neither: as that says */
	bool automatic;		/* nobody waits for it */
	int max_pause_ms;	/* -1: as configured */
	int quiesce_ms;		/* 0: as configured */
	const char *files;	/* NULL: the default */
};

struct job_checkpoint_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/* Once, last; takes over @outcome. The job is not busy any more. */
	void (*ended)(json_t *outcome, void *arg);
};

/*
 * job_checkpoint_start() - begin one
 *
 * NULL: ended() will be called; else an outcome says why not, and it will not be.
 */
json_t *job_checkpoint_start(struct job *job, const struct job_checkpoint_options *options,
			     const struct job_checkpoint_ops *ops, void *arg);

#endif /* STILLPOINT_JOB_CHECKPOINT_H */
