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
#include "supervisor/control/confines.h"
#include "supervisor/job/jobs.h"
#include "supervisor/restart/precheck.h"
#include "supervisor/restart/rollback.h"
#include "supervisor/verbs/caller.h"
#include "supervisor/verbs/user_limits.h"
#include "supervisor/vote/release.h"

/* How often, and how many times, to look whether the job has ended. */
#define END_LOOK_MS	20
#define END_LOOKS	3000
/* Looks until a job of which nobody knows whether it was ended counts as running. */
#define UNKNOWN_LOOKS	500

struct rollback_verb {
	struct request *request;
	struct job *job;	/* busy */
	struct rollback_options options;
	bool only;		/* in place, or not at all */
	bool unknown;		/* the job may be ending, or run on */
	const char *never;	/* why it is not tried in place; NULL: it is */
	json_t *instead;	/* what a restart in its stead adds to its answer */
	unsigned int looks;
};

static void rollback_free(struct rollback_verb *r)
{
	r->job->busy = NULL;
	json_decref(r->options.asker);
	json_decref(r->instead);
	free(r);
}

/* Answer with @outcome, taken over, and free @r. */
static void rollback_answer(struct rollback_verb *r, json_t *outcome)
{
	struct request *request = r->request;

	rollback_free(r);
	request_answer(request, outcome);
}

/* ---------------------------------------------------------- a restart instead */

static const char *rollback_why(const struct rollback_verb *r)
{
	return json_string_value(json_object_get(r->instead, "why")) ?: "";
}

static void rollback_restart(struct rollback_verb *r)
{
	struct request *request = r->request;
	json_t *instead = json_incref(r->instead), *args;

	args = json_pack("{s:I, s:I, s:b}", "job", (json_int_t)r->job->id, "generation",
			 r->options.generation, "accept_changed", r->options.accept_changed);
	rollback_free(r);
	json_object_clear(request->args);
	json_object_update(request->args, args);
	json_decref(args);
	verb_restart_instead(request, instead);
}

static void rollback_on_look(void *arg)
{
	struct rollback_verb *r = arg;
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
						 (long long)r->options.generation));
}

/* The tree cannot be rolled back in place, or was lost on the way (@ended). */
static void rollback_replace(struct rollback_verb *r, const char *why, bool ended)
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
		    (long long)r->options.generation);
	r->instead = json_pack("{s:b, s:s}", "in_place", false, "why", why);
	if (job_is_alive(job) && !r->unknown)
		failure = job_kill(job, SIGKILL);
	if (failure)
		rollback_answer(r, failure);
	else
		rollback_on_look(r);
}

/* ------------------------------------------------------------------- in place */

static void rollback_on_progress(json_t *progress, void *arg)
{
	const struct rollback_verb *r = arg;

	request_progress(r->request, progress);
}

static void rollback_on_ended(enum rollback_end end, json_t *outcome, void *arg)
{
	struct rollback_verb *r = arg;
	const char *why;

	if (end == ROLLBACK_REFUSED) {
		rollback_answer(r, outcome);
		return;
	}
	if (end == ROLLBACK_DONE && !r->never) {
		vote_release(r->request->common, r->job->id, r->job->init);
		rollback_answer(r, outcome);
		return;
	}
	why = json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));
	r->unknown = end == ROLLBACK_UNKNOWN;
	rollback_replace(r, r->never ?: why ?: "its ranks cannot go on",
			 end == ROLLBACK_LOST || r->unknown);
	json_decref(outcome);
}

/* If the job is to be ended, first see whether all of the image can be read. */
static void rollback_begin(struct rollback_verb *r)
{
	static const struct rollback_ops ops = { rollback_on_progress, rollback_on_ended };
	int err;

	r->never = rollback_never(r->job);
	if (r->never && r->only) {
		rollback_replace(r, r->never, false);
		return;
	}
	r->options.read_only = r->never;
	err = rollback_start(r->job, &r->options, &ops, r);
	if (err)
		rollback_answer(r, outcome_error(err, "the rollback cannot be begun: %s",
						 strerror(-err)));
}

/* ------------------------------------------------------------------- the verb */

static json_t *rollback_parse(const struct request *request, const struct job *job,
			      struct rollback_verb *r)
{
	int accept = 0, only = 0, reread = 0;
	json_error_t why;
	json_int_t id;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I, s?b, s?b, s?b !}", "job", &id,
			   "generation", &r->options.generation, "accept_changed", &accept,
			   "in_place_only", &only, "reread", &reread))
		return outcome_usage("rollback: bad arguments: %s", why.text);
	r->options.accept_changed = accept;
	r->options.reread = reread;
	r->only = only;
	/* as a restart does */
	if (!r->options.generation)
		r->options.generation = trust_choose(&request->common->catalog, job->id);
	return job_check_running(job) ?: job_check_free(job, "rollback") ?:
	       precheck_replica(job, request->args) ?:
	       precheck_choose(&request->common->catalog, job, &r->options.generation);
}

static void rollback_allowed(struct request *request)
{
	struct rollback_verb asked = { .request = request }, *r = NULL;
	json_t *outcome = confines_take(request) ?:
			  confines_check_restart(request->confines, request->verb);

	if (!outcome)
		asked.job = jobs_reconcile_for(request, &outcome);
	if (asked.job)
		outcome = rollback_parse(request, asked.job, &asked);
	if (!outcome)
		outcome = caller_asker(request, &asked.options.asker);
	if (!outcome)
		r = malloc(sizeof(*r));
	if (!r) {
		json_decref(asked.options.asker);
		request_answer(request, outcome);
		return;
	}
	*r = asked;
	r->job->busy = "rollback";
	rollback_begin(r);
}

void verb_rollback(struct request *request)
{
	user_limits_pass(request, USER_RESTARTS, rollback_allowed);
}
