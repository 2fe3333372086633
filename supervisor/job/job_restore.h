/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes of a job that belong on this node by its record, from their images: all of
 * a job, or a part of one over nodes (parts.h), whatever nodes they were on when the
 * generation was taken. What becomes of the job then is the caller's to say.
 *
 * How it is to be is JSON, because it travels between nodes:
 *
 *	{"generation": N, "accept_changed": bool, "any_rights": bool, "files": "track" |
 *	 "carry" | "ignore" (optional), "dry_run": bool,
 *	 "env": as of shim/ranks.h (optional)}
 */
#ifndef STILLPOINT_JOB_RESTORE_H
#define STILLPOINT_JOB_RESTORE_H

#include <jansson.h>

#include "supervisor/job/jobs.h"

struct job_restore_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/*
	 * The manifest is this job's and generation's, the shim comes next. An outcome that
	 * failed (a new reference) ends it here. Or NULL.
	 */
	json_t *(*checked)(void *arg);
	/* Once, last; a new reference. Ok: the job's processes run, and are to be taken. */
	void (*ended)(json_t *outcome, void *arg);
};

/*
 * job_restore_start() - read the manifest in a worker, then have a shim restore
 * @attach: the shim's end of a terminal's connection, taken over; -1: none
 *
 * With dry_run nothing is started: the outcome says whether it could be.
 * 0: ops->ended() will be called; negative errno: it will not.
 */
int job_restore_start(struct job *job, const json_t *how, int attach,
		      const struct job_restore_ops *ops, void *arg);

/* Add @figures, as of op_restore(), to those in @sum. */
void job_restore_add_figures(json_t *sum, const json_t *figures);

#endif /* STILLPOINT_JOB_RESTORE_H */
