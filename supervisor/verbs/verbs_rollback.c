// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request rollback: give a running job the state of one of its generations.
 *
 * The job's processes stay if that is possible (job_restore.h). If it is not, the job is ended and
 * restarted from the generation, and the answer and the log say why; with "in_place_only" the job
 * runs on instead. A job that a rollback has lost halfway is restarted in any case.
 *
 * The job is busy from the first look to the restart, so nothing else is done to it meanwhile.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/checkpoint/ranks_up.h"
#include "supervisor/checkpoint/scrub.h"
#include "supervisor/control/confines.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/parts/parts.h"
#include "supervisor/restart/precheck.h"
#include "supervisor/verbs/caller.h"
#include "supervisor/verbs/user_limits.h"
#include "supervisor/vote/release.h"

/* How often, and how many times, to look whether the job has ended. */
#define END_LOOK_MS	20
#define END_LOOKS	3000
/* Looks until a job of which nobody knows whether it was ended counts as running. */
#define UNKNOWN_LOOKS	500

struct rollback {
	struct request *request;
	struct job *job;	/* busy */
	json_int_t generation;
	bool accept_changed, reread;
	bool only;		/* in place, or not at all */
	bool unknown;		/* the job may be ending, or run on */
	const char *never;	/* why it is not tried in place; NULL: it is */
	json_t *asker;		/* who asks, op_asker.h; NULL: root */
	json_t *how;		/* as of job_restore.h */
	json_t *done;		/* the outcome of a rollback whose ranks do not run yet; or NULL */
	json_t *instead;	/* what a restart in its stead adds to its answer */
	unsigned int looks;
};

static void rollback_free(struct rollback *r)
{
	r->job->busy = NULL;
	json_decref(r->asker);
	json_decref(r->how);
	json_decref(r->instead);
	free(r);
}

/* Answer with @outcome, taken over, and free @r. */
static void rollback_answer(struct rollback *r, json_t *outcome)
{
	struct request *request = r->request;

	rollback_free(r);
	request_answer(request, outcome);
}

/* ---------------------------------------------------------- a restart instead */

static const char *rollback_why(const struct rollback *r)
{
	return json_string_value(json_object_get(r->instead, "why")) ?: "";
}

static void rollback_restart(struct rollback *r)
{
	struct request *request = r->request;
	json_t *instead = json_incref(r->instead), *args;

	args = json_pack("{s:I, s:I, s:b}", "job", (json_int_t)r->job->id, "generation",
			 r->generation, "accept_changed", r->accept_changed);
	rollback_free(r);
	json_object_clear(request->args);
	json_object_update(request->args, args);
	json_decref(args);
	verb_restart_instead(request, instead);
}

static void rollback_on_look(void *arg)
{
	struct rollback *r = arg;
	struct reactor_source *timer;

	if (!job_is_alive(r->job))
		rollback_restart(r);
	else if (r->unknown && r->looks >= UNKNOWN_LOOKS)
		rollback_answer(r, outcome_error(-ECHILD,
						 "job %lld runs on as it was: %s",
						 (long long)r->job->id, rollback_why(r)));
	else if (r->looks++ >= END_LOOKS ||
		 reactor_timer(r->request->common->reactor, END_LOOK_MS, rollback_on_look, r,
			       &timer))
		rollback_answer(r, outcome_error(-ETIMEDOUT,
						 "job %lld was to end and does not; restart it "
						 "when it has: ckptctl restart %lld:%lld",
						 (long long)r->job->id, (long long)r->job->id,
						 (long long)r->generation));
}

/* The tree cannot be rolled back in place, or was lost on the way (@ended). */
static void rollback_replace(struct rollback *r, const char *why, bool ended)
{
	struct job *job = r->job;
	json_t *failure = NULL;

	if (r->only && !ended) {
		rollback_answer(r, outcome_error(-EOPNOTSUPP,
						 "job %lld cannot be rolled back in place: %s; it "
						 "runs on as it was",
						 (long long)job->id, why));
		return;
	}
	log_warning(&r->request->common->log,
		    "job %lld: no rollback in place: %s; %s from generation %lld",
		    (long long)job->id, why, r->unknown ? "if it has ended, it is restarted" :
		    ended ? "it has ended, and is restarted" : "it is ended, and restarted",
		    (long long)r->generation);
	r->instead = json_pack("{s:b, s:s}", "in_place", false, "why", why);
	if (job_is_alive(job) && !r->unknown)
		failure = job_kill(job, SIGKILL);
	if (failure)
		rollback_answer(r, failure);
	else
		rollback_on_look(r);
}

/* ------------------------------------------------------------------- in place */

static void rollback_succeeded(struct rollback *r, json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");
	struct ckpt_error error = {};
	struct job *job = r->job;
	const json_t *note;
	size_t i;

	log_info(&r->request->common->log,
		 "job %lld was rolled back to generation %lld in place: its processes stayed",
		 (long long)job->id, (long long)r->generation);
	json_array_foreach(json_object_get(result, "notes"), i, note)
		log_info(&r->request->common->log, "job %lld: %s", (long long)job->id,
			 json_string_value(note));
	job->record.generation = r->generation;
	scrub_begin_from(job, r->generation);
	if (job_save(job, &error))
		log_error(&r->request->common->log, "%s", error.text);
	vote_release(r->request->common, job->id, job->init);
	json_object_set_new(result, "generation", json_integer(r->generation));
	json_object_update_missing(result, job_describe(job));
	rollback_answer(r, outcome);
}

/* The ranks have made a new MPI library theirs (@failure: NULL), or cannot go on. */
static void rollback_on_ranks(json_t *failure, void *arg)
{
	struct rollback *r = arg;
	json_t *outcome = r->done;
	const char *why;

	r->done = NULL;
	if (!failure) {
		rollback_succeeded(r, outcome);
		return;
	}
	json_decref(outcome);
	why = json_string_value(json_object_get(json_object_get(failure, "error"), "text"));
	rollback_replace(r, why ?: "its ranks cannot go on", true);
	json_decref(failure);
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

	log_warning(&r->request->common->log, "job %lld: no rollback to generation %lld: %s",
		    (long long)r->job->id, (long long)r->generation,
		    json_string_value(json_object_get(error, "text")) ?: "");
	rollback_answer(r, outcome);
}

/* All nodes have read their images, before the job is ended, or one of them cannot. */
static void rollback_on_read(json_t *outcome, void *arg)
{
	struct rollback *r = arg;

	if (!outcome_is_ok(outcome)) {
		rollback_refused(r, outcome);
		return;
	}
	json_decref(outcome);
	rollback_replace(r, r->never, false);
}

static void rollback_on_ended(json_t *outcome, void *arg)
{
	struct rollback *r = arg;
	const json_t *result = json_object_get(outcome, "result");
	bool done = json_is_true(json_object_get(result, "in_place"));
	bool ended = json_is_true(json_object_get(result, "ended"));
	const char *why = json_string_value(json_object_get(result, "why")) ?: "";

	if (!outcome_is_ok(outcome)) {
		rollback_refused(r, outcome);
	} else if (r->never) {
		parts_try(r->job, r->how, outcome, rollback_on_read, r);
	} else if (done) {
		rollback_rolled(r, outcome);
	} else {
		r->unknown = json_is_true(json_object_get(result, "unknown"));
		rollback_replace(r, why, ended || r->unknown);
		json_decref(outcome);
	}
}

static void rollback_on_progress(json_t *progress, void *arg)
{
	const struct rollback *r = arg;

	request_progress(r->request, progress);
}

/* Why a rollback in place need not be tried. NULL: try it. */
static const char *rollback_never(const struct job *job)
{
	if (rank_record_nodes(job->record.ranks))
		return "it has ranks on several nodes";
	if (job->host_ns)
		return "it has no PID namespace of its own";
	return job->shim < 0 ? "its shim has gone" : NULL;
}

/* If the job is to be ended, first see whether all of the image can be read. */
static void rollback_start(struct rollback *r)
{
	static const struct job_restore_ops ops = {
		.progress = rollback_on_progress, .ended = rollback_on_ended,
	};
	int err;

	r->never = rollback_never(r->job);
	if (r->never && r->only) {
		rollback_replace(r, r->never, false);
		return;
	}
	/* the driver of checkpoints watches the ranks, and knows them as they are now */
	if (!r->never) {
		coord_driver_close(r->job->coord);
		r->job->coord = NULL;
	}
	r->how = json_pack("{s:I, s:b, s:b, s:b, s:b, s:b}", "generation", r->generation,
			   "accept_changed", r->accept_changed, "any_rights", r->request->uid == 0,
			   "rollback", true, "reread", r->reread, "dry_run", r->never != NULL);
	json_object_set(r->how, "asker", r->asker);
	err = job_restore_start(r->job, r->how, -1, NULL, &ops, r);
	if (err)
		rollback_answer(r, outcome_error(err, "the rollback cannot be begun: %s",
						 strerror(-err)));
}

/* ------------------------------------------------------------------- the verb */

static json_t *rollback_parse(const struct request *request, const struct job *job,
			      struct rollback *r)
{
	int accept = 0, only = 0, reread = 0;
	json_error_t why;
	json_int_t id;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I, s?b, s?b, s?b !}", "job", &id,
			   "generation", &r->generation, "accept_changed", &accept,
			   "in_place_only", &only, "reread", &reread))
		return outcome_usage("rollback: bad arguments: %s", why.text);
	r->accept_changed = accept;
	r->reread = reread;
	r->only = only;
	/* as a restart does */
	if (!r->generation)
		r->generation = trust_choose(&request->common->catalog, job->id);
	return job_check_running(job) ?: job_check_free(job, "rollback") ?:
	       precheck_replica(job, request->args) ?:
	       precheck_choose(&request->common->catalog, job, &r->generation);
}

static void rollback_allowed(struct request *request)
{
	struct rollback asked = { .request = request }, *r = NULL;
	json_t *outcome = confines_take(request) ?:
			  confines_check_restart(request->confines, request->verb);

	if (!outcome)
		asked.job = jobs_reconcile_for(request, &outcome);
	if (asked.job)
		outcome = rollback_parse(request, asked.job, &asked);
	if (!outcome)
		outcome = caller_asker(request, &asked.asker);
	if (!outcome)
		r = malloc(sizeof(*r));
	if (!r) {
		json_decref(asked.asker);
		request_answer(request, outcome);
		return;
	}
	*r = asked;
	r->job->busy = "rollback";
	rollback_start(r);
}

void verb_rollback(struct request *request)
{
	user_limits_pass(request, USER_RESTARTS, rollback_allowed);
}
