/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of the registry of jobs, for its own files only: jobs.c (entries), jobs_read.c (jobs as
 * they are on disk) and jobs_find.c (jobs that run here, or ran here, and the entries of those
 * that are over).
 */
#ifndef STILLPOINT_JOBS_PRIV_H
#define STILLPOINT_JOBS_PRIV_H

#include "supervisor/control/worker.h"
#include "supervisor/job/job_table.h"
#include "supervisor/job/jobs.h"

struct jobs {
	struct common *common;
	const struct job_ops *ops;
	struct job_table table;	/* entries; jobs that are over leave it soon: jobs_tidy_soon() */
	struct reactor_source *look;	/* timer of on_look() */
	struct reactor_source *tidy;	/* timer of jobs_on_tidy() */
	struct worker *survey;	/* looks for jobs that were lost here; NULL: does not run */
	struct job_events_subscriber *subscribers;
	int no_images;		/* of job_ops.has_images(), by jobs_worker_start(); 0: none */
	struct ckpt_error no_images_error;
	bool keyless;		/* the key cannot be used; the log says why */
	bool missed;		/* some job runs here without a record, and that was logged */
	json_t *unreadable;	/* jobs_unreadable() */
};

/* jobs.c */

/* Make an entry from a job's record in the catalog; register it not. */
int jobs_read_record(struct jobs *jobs, int64_t id, struct job **ret_job,
		     struct ckpt_error *error);
/* Read a job's record from the catalog, register the job, and find out whether it runs. */
int jobs_load(struct jobs *jobs, int64_t id, struct job **ret_job, struct ckpt_error *error);
/* 0 if the key can be loaded. If not, log that once, and not an error for each record. */
int jobs_check_key(struct jobs *jobs, struct ckpt_error *error);
/* The outcome of a record that could not be read; -ENOENT may mean that the key is missing. */
json_t *jobs_refuse(struct jobs *jobs, int64_t id, int err, const char *why);
/* Get the "job" in @request's arguments; false, with an outcome, if there is none. */
bool jobs_named(const struct request *request, int64_t *ret_id, json_t **ret_outcome);
/* True if @request may name @job; false, with an outcome, if not. */
bool jobs_allowed(const struct request *request, const struct job *job, json_t **ret_outcome);

/* jobs_find.c */

/* See to it that entries of jobs that are over are freed, a moment later. */
void jobs_tidy_soon(struct jobs *jobs);
/* Stop what jobs_find.c has begun. */
void jobs_find_close(struct jobs *jobs);

#endif /* STILLPOINT_JOBS_PRIV_H */
