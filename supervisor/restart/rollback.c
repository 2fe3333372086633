// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rollback in place; see rollback.h. Owns each struct rollback, from its start until ended().
 * Must not end a job, nor free it: the caller keeps it busy meanwhile. The ranks of a job get a new
 * MPI library from their shim, so a rollback is over only when they run again.
 */
#include "supervisor/restart/rollback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/checkpoint/ranks_up.h"
#include "supervisor/checkpoint/scrub.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/parts.h"

struct rollback {
	struct job *job;
	int64_t generation;
	const struct rollback_ops *ops;
	void *arg;
	json_t *how;		/* as of job_restore.h */
	json_t *done;		/* the outcome of a rollback whose ranks do not run yet; or NULL */
	bool read_only;
};

static struct log *rollback_log(const struct rollback *r)
{
	return &jobs_common(r->job->jobs)->log;
}

/* Tell the caller, and free @r. */
static void rollback_end(struct rollback *r, enum rollback_end end, json_t *outcome)
{
	const struct rollback_ops *ops = r->ops;
	void *arg = r->arg;

	json_decref(r->how);
	free(r);
	ops->ended(end, outcome, arg);
}

static void rollback_succeeded(struct rollback *r, json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");
	struct ckpt_error error = {};
	struct job *job = r->job;
	const json_t *note;
	size_t i;

	log_info(rollback_log(r),
		 "job %lld was rolled back to generation %lld in place: its processes stayed",
		 (long long)job->id, (long long)r->generation);
	json_array_foreach(json_object_get(result, "notes"), i, note)
		log_info(rollback_log(r), "job %lld: %s", (long long)job->id,
			 json_string_value(note));
	job->record.generation = r->generation;
	scrub_begin_from(job, r->generation);
	if (job_save(job, &error))
		log_error(rollback_log(r), "%s", error.text);
	json_object_set_new(result, "generation", json_integer((json_int_t)r->generation));
	json_object_update_missing(result, job_describe(job));
	rollback_end(r, ROLLBACK_DONE, outcome);
}

/* The ranks have made a new MPI library theirs (@failure: NULL), or cannot go on. */
static void rollback_on_ranks(json_t *failure, void *arg)
{
	struct rollback *r = arg;
	json_t *outcome = r->done;

	r->done = NULL;
	if (!failure) {
		rollback_succeeded(r, outcome);
		return;
	}
	json_decref(outcome);
	rollback_end(r, ROLLBACK_LOST, failure);
}

/* The processes are as they were. Ranks have no MPI library yet: wait until they run. */
static void rollback_rolled(struct rollback *r, json_t *outcome)
{
	int err;

	r->done = outcome;
	err = coord_driver_wanted(r->job) ? ranks_up_wait(r->job, rollback_on_ranks, r) : 1;
	if (err < 0)
		rollback_on_ranks(outcome_error(err, "its ranks cannot be watched: %s",
						strerror(-err)), r);
	else if (err)
		rollback_on_ranks(NULL, r);
}

static void rollback_refused(struct rollback *r, json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");

	log_warning(rollback_log(r), "job %lld: no rollback to generation %lld: %s",
		    (long long)r->job->id, (long long)r->generation,
		    json_string_value(json_object_get(error, "text")) ?: "");
	rollback_end(r, ROLLBACK_REFUSED, outcome);
}

/* All nodes have read their images, or one of them cannot. */
static void rollback_on_read(json_t *outcome, void *arg)
{
	struct rollback *r = arg;

	if (outcome_is_ok(outcome))
		rollback_end(r, ROLLBACK_DONE, outcome);
	else
		rollback_refused(r, outcome);
}

static void rollback_on_ended(json_t *outcome, void *arg)
{
	struct rollback *r = arg;
	const json_t *result = json_object_get(outcome, "result");
	json_t *why;

	if (!outcome_is_ok(outcome)) {
		rollback_refused(r, outcome);
	} else if (r->read_only) {
		parts_try(r->job, r->how, outcome, rollback_on_read, r);
	} else if (json_is_true(json_object_get(result, "in_place"))) {
		rollback_rolled(r, outcome);
	} else {
		bool ended = json_is_true(json_object_get(result, "ended"));
		bool unknown = json_is_true(json_object_get(result, "unknown"));

		why = outcome_error(-EOPNOTSUPP, "%s",
				    json_string_value(json_object_get(result, "why")) ?: "");
		json_decref(outcome);
		rollback_end(r, unknown ? ROLLBACK_UNKNOWN : ended ? ROLLBACK_LOST : ROLLBACK_NOT,
			     why);
	}
}

static void rollback_on_progress(json_t *progress, void *arg)
{
	const struct rollback *r = arg;

	if (r->ops->progress)
		r->ops->progress(progress, r->arg);
}

const char *rollback_never(const struct job *job)
{
	if (rank_record_nodes(job->record.ranks))
		return "it has ranks on several nodes";
	if (job->host_ns)
		return "it has no PID namespace of its own";
	return job->shim < 0 ? "its shim has gone" : NULL;
}

int rollback_start(struct job *job, const struct rollback_options *options,
		   const struct rollback_ops *ops, void *arg)
{
	static const struct job_restore_ops restore_ops = {
		.progress = rollback_on_progress, .ended = rollback_on_ended,
	};
	struct rollback *r = malloc(sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	*r = (struct rollback){
		.job = job, .generation = options->generation, .ops = ops, .arg = arg,
		.read_only = options->read_only,
	};
	/* the driver of checkpoints watches the ranks, and knows them as they are now */
	if (!r->read_only) {
		coord_driver_close(job->coord);
		job->coord = NULL;
	}
	r->how = json_pack("{s:I, s:b, s:b, s:b, s:b, s:b}", "generation",
			   (json_int_t)options->generation, "accept_changed",
			   options->accept_changed, "any_rights", options->asker == NULL,
			   "rollback", true, "reread", options->reread, "dry_run", r->read_only);
	/* NULL: not set */
	json_object_set(r->how, "asker", options->asker);
	err = job_restore_start(job, r->how, -1, NULL, &restore_ops, r);
	if (err) {
		json_decref(r->how);
		free(r);
	}
	return err;
}
