/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dump of a job's processes on this node, in a worker: what the checkpoint of any job
 * has in common, whoever decides when it goes on.
 *
 * A held dump stops twice and waits for job_dump_go(): when all is captured (the tree
 * stands still until then), and when the image is in its place (a tree to be killed
 * stands still until then, too).
 */
#ifndef STILLPOINT_JOB_DUMP_H
#define STILLPOINT_JOB_DUMP_H

#include "supervisor/job/jobs.h"

struct job_dump;

struct job_dump_ops {
	void (*captured)(void *arg);	/* of a held one */
	void (*stored)(void *arg);
	void (*progress)(json_t *progress, void *arg);
	/* Once, last: @outcome is a new reference; the dump is no more. */
	void (*ended)(json_t *outcome, void *arg);
};

struct job_dump_options {
	json_t *args;		/* of op_dump(); not taken over, and unchanged until the end */
	bool held;
	uint64_t silent_ns;	/* how long it took until the ranks were; for the note */
	uint64_t quiesce_ns;	/* since somebody asked for it; 0: not here */
};

int job_dump_start(struct job *job, const struct job_dump_options *options,
		   const struct job_dump_ops *ops, void *arg, struct job_dump **ret_dump);
/* Answers the last captured() or stored(). */
void job_dump_go(struct job_dump *dump);
/*
 * Give it up, wherever it is; ended() follows, and no image is left. One that went on after
 * stored() counts: it ends as if nothing had been said.
 */
void job_dump_abort(struct job_dump *dump);

#endif /* STILLPOINT_JOB_DUMP_H */
