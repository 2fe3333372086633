// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request restart: restart a job from one of its generations, on this node or, with this
 * node as the home, over several nodes: as many as the generation has images of, or others.
 *
 * Refused while the job's processes may still run: here, because init lives; on another node,
 * because the record names that node and the user did not say that it is off. restart.h does the
 * restart itself.
 *
 * Where there are levels, the generation is first checked or fetched (fetching.h), as L1 may not
 * have it any more. If a restore still finds the generation damaged, all that L1 has of it is
 * read as a whole, and the restart is tried once more.
 *
 * Where image directories are not shared, this first fetch gets only the image of the first node,
 * which says what the job is. Once it is known which ranks are to be where, each node fetches the
 * images that it needs (parts_fetch()), before anything is tried.
 *
 * With --node-lost, the parts of the job that run on without the lost node are ended first.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/reader.h"
#include "supervisor/auto/fetching.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/control/confines.h"
#include "supervisor/auto/services.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/job_events.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/restart/precheck.h"
#include "supervisor/restart/restart_times.h"
#include "supervisor/restart/restart.h"
#include "supervisor/verbs/caller.h"
#include "supervisor/verbs/user_limits.h"
#include "supervisor/vote/release.h"

/* State of a request before its restart begins, and between its first and second try. */
struct attempt {
	struct request *request;
	json_int_t asked;	/* generation; 0: the newest */
	bool known;		/* this node knows the job */
	bool claimed;
	bool deep;		/* this is the second try, which reads images as a whole */
	json_int_t run;		/* the highest run number known, not counting our record's */
	json_t *steps;		/* steps of the fetches; NULL: none */
	json_t *of_run;		/* run of the generation fetched last; NULL: not known */
	json_t *first;		/* images that a fetch under way wants; NULL: all */
	json_t *asker;		/* who asks, op_asker.h; NULL: root */
	json_t *instead;	/* added to the answer: the rollback that was not; NULL: none */
	struct restart_times times;
};

static int64_t attempt_job(const struct attempt *a)
{
	return json_integer_value(json_object_get(a->request->args, "job"));
}

static bool verb_restart_is_dry_run(const struct attempt *a)
{
	return json_is_true(json_object_get(a->request->args, "dry_run"));
}

static void attempt_free(struct attempt *a)
{
	json_decref(a->steps);
	json_decref(a->first);
	json_decref(a->of_run);
	json_decref(a->asker);
	json_decref(a->instead);
	free(a);
}

/* Answer the request and free @a. */
static void attempt_answer(struct attempt *a, json_t *outcome, int fd)
{
	json_t *to = json_object_get(outcome, outcome_is_ok(outcome) ? "result" : "error");

	if (a->claimed)
		catalog_unclaim(&a->request->common->catalog, attempt_job(a),
				a->request->common->config.node);
	if (a->steps) {
		json_array_extend(a->steps, json_object_get(to, "steps"));
		json_object_set(to, "steps", a->steps);
	}
	if (a->instead)
		json_object_update(to, a->instead);
	request_answer_fd(a->request, outcome, fd);
	attempt_free(a);
}

/* ---------------------------------------------------------------- the restart */

/*
 * NULL, or an outcome: another node is removing generations of the job. A pruner looks for a
 * claim once it has the catalog's lock, so one of the two sees the other.
 */
static json_t *check_not_pruned(const struct common *common, int64_t id)
{
	int lock = -1, err;

	err = catalog_lock(&common->catalog, id, &lock);
	if (!err)
		close(lock);
	return err == -EBUSY ? outcome_error(err,
					     "generations of job %lld are being removed just now; "
					     "try again",
					     (long long)id)
			     : NULL;
}

/* Claim the job, so that no other node restarts it; *@job becomes the job as it is then. */
static json_t *take_claim(struct request *request, struct job **job)
{
	const struct common *common = request->common;
	bool force = json_is_true(json_object_get(request->args, "node_lost"));
	int64_t id = (*job)->id;
	json_t *outcome = NULL;
	char holder[80];
	int err;

	err = catalog_claim(&common->catalog, id, common->config.node, force, holder,
			    sizeof(holder));
	if (err == -EBUSY)
		return outcome_error(err,
				     "job %lld is being restarted on node %s; if that node is off, "
				     "or its restart was cut off, use --node-lost",
				     (long long)id, holder);
	if (err)
		return outcome_error(err, "%s: %s", (*job)->image_dir, strerror(-err));
	job_events_claimed(*job);
	outcome = check_not_pruned(common, id);
	if (!outcome)
		*job = jobs_reconcile(request->jobs, id, &outcome);
	/* whoever had the claim before may have restarted it meanwhile */
	if (!outcome)
		outcome = precheck_not_running(*job, force);
	if (outcome)
		catalog_unclaim(&common->catalog, id, common->config.node);
	return outcome;
}

static void note_run(struct attempt *a, const json_t *result)
{
	json_int_t run = json_integer_value(json_object_get(result, "run"));

	a->run = run > a->run ? run : a->run;
}

static void add_steps(struct attempt *a, const json_t *result)
{
	if (!a->steps)
		a->steps = json_array();
	json_array_extend(a->steps, json_object_get(result, "steps"));
}

static void attempt_start(struct attempt *a);

static void on_restart_fetched(const json_t *result, void *arg)
{
	struct attempt *a = arg;

	add_steps(a, result);
	note_run(a, result);
}

/* Did the restore find damage that the first check missed? Then try again, with a deep check. */
static bool wants_deep(const struct attempt *a, const json_t *outcome)
{
	const struct common *common = a->request->common;
	const struct job *job = jobs_lookup(a->request->jobs, attempt_job(a));
	int err = outcome_errno(outcome);

	return (err == -EBADMSG || image_is_unreadable(err)) && !a->deep &&
	       !verb_restart_is_dry_run(a) && fetching_is_on(common) && job && !job_is_alive(job);
}

static void on_restarted(json_t *outcome, int client, void *arg)
{
	struct attempt *a = arg;
	const struct job *job = jobs_lookup(a->request->jobs, attempt_job(a));

	if (outcome_is_ok(outcome) && job && job_is_alive(job) && !verb_restart_is_dry_run(a))
		vote_release(a->request->common, job->id, job->init);
	if (!wants_deep(a, outcome)) {
		attempt_answer(a, outcome, client);
		return;
	}
	note_run(a, json_object_get(outcome, "error"));
	json_decref(outcome);
	a->deep = true;
	attempt_start(a);
}

/* L1 has the generation now, as far as is known: begin the restart. */
static void verb_restart_go_on(struct attempt *a, struct job *job)
{
	static const struct restart_ops ops = { on_restart_fetched, on_restarted };
	const struct restart_options options = {
		.run = a->run, .of_run = a->of_run, .deep = a->deep, .times = &a->times,
		.asker = a->asker,
	};
	json_t *refused = restart_start(a->request, job, &options, &ops, a);

	if (refused)
		attempt_answer(a, refused, -1);
}

/* ------------------------------------------------------------------ the fetch */

/* Outcome of a dry run if L1 lacks the generation, so that nothing can be tried. */
static json_t *would_be_fetched(const struct attempt *a, const json_t *result)
{
	return outcome_ok(json_pack("{s:O, s:b, s:b, s:O}", "job",
				    json_object_get(a->request->args, "job"), "dry_run", true,
				    "fetch", true, "generation",
				    json_object_get(result, "generation")));
}

/* Never reuse numbers of generations that only levels have. False: the request is answered. */
static bool note_newest(struct attempt *a, struct job *job, const json_t *result)
{
	struct ckpt_error error = {};
	int err = 0;

	if (job && !verb_restart_is_dry_run(a))
		err = job_raise_floor(job, json_integer_value(json_object_get(result, "newest")),
				      &error);
	if (err)
		attempt_answer(a, outcome_error(err, "%s", error.text), -1);
	return !err;
}

static void on_fetched(json_t *outcome, void *arg)
{
	struct attempt *a = arg;
	const json_t *result = json_object_get(outcome, "result");
	struct job *job = a->known ? jobs_lookup(a->request->jobs, attempt_job(a)) : NULL;

	json_decref(a->first);
	a->first = NULL;
	restart_times_end(&a->times, RESTART_FETCH, clock_monotonic_ns());
	if (job)
		job->busy = NULL;
	if (!outcome_is_ok(outcome)) {
		attempt_answer(a, outcome, -1);
		return;
	}
	add_steps(a, result);
	note_run(a, result);
	json_decref(a->of_run);
	a->of_run = json_incref(json_object_get(result, "of_run"));
	if (!json_is_true(json_object_get(result, "in_l1"))) {
		attempt_answer(a, would_be_fetched(a, result), -1);
	} else if (!job) {
		a->known = true;
		attempt_start(a);
	} else if (note_newest(a, job, result)) {
		json_object_set(a->request->args, "generation",
				json_object_get(result, "generation"));
		verb_restart_go_on(a, job);
	}
	json_decref(outcome);
}

static void on_fetch_progress(json_t *progress, void *arg)
{
	const struct attempt *a = arg;

	request_progress(a->request, progress);
}

/* Start a fetch; @job: NULL: L1 knows nothing of the job. False: go on without a fetch. */
static bool verb_restart_fetch(struct attempt *a, struct job *job)
{
	static const struct fetching_ops ops = { on_fetch_progress, on_fetched };
	struct request *request = a->request;
	const struct config *config = &request->common->config;
	struct fetching_options options = {
		.flusher = request->services->flusher,
		.id = attempt_job(a), .job = job,
		.generation = a->asked, .deep = a->deep, .uid = request->uid,
		.dry_run = verb_restart_is_dry_run(a),
	};

	if (!fetching_is_on(request->common))
		return false;
	/* Only the first node's image: which other images this node needs is not known yet. */
	if (!config->image_dir_shared && !a->first)
		a->first = json_pack("[i]", 0);
	options.parts = a->first;
	restart_times_begin(&a->times, clock_monotonic_ns());
	if (fetching_start(request->common, &options, &ops, a))
		return false;
	a->known = job;
	if (job)
		job->busy = "restart";
	return true;
}

/* ------------------------------------------------------------------ the verb */

static void attempt_start(struct attempt *a)
{
	struct request *request = a->request;
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);

	if (!job && outcome_errno(outcome) == -ENOENT && !a->known && verb_restart_fetch(a, NULL)) {
		json_decref(outcome);
		return;
	}
	if (job)
		outcome = job_check_free(job, "restart");
	/* Refuse before fetching anything. */
	if (job && !outcome)
		outcome = precheck_not_running(job, json_is_true(json_object_get(request->args,
										 "node_lost")));
	if (job && !outcome)
		outcome = precheck_replica(job, request->args);
	if (job && !outcome && !verb_restart_is_dry_run(a) && !a->claimed) {
		outcome = take_claim(request, &job);
		a->claimed = job && !outcome;
	}
	if (!job || outcome)
		attempt_answer(a, outcome, -1);
	else if (!verb_restart_fetch(a, job))
		verb_restart_go_on(a, job);
}

/*
 * Nobody has named a generation: if the newest is not the one that is trusted most, take that one,
 * and say so; say so, too, if it is doubted.
 */
static void prefer_trusted(struct attempt *a)
{
	const struct catalog *catalog = &a->request->common->catalog;
	int64_t job = attempt_job(a), newest = catalog_last(catalog, job);
	int64_t best = newest ? trust_choose(catalog, job) : 0;
	enum trust trust;

	if (!best)
		return;
	trust = trust_get(catalog, job, best, NULL);
	if (best == newest && !trust_is_doubted(trust))
		return;
	a->asked = best;
	json_object_set_new(a->request->args, "generation", json_integer(best));
	if (trust_is_doubted(trust))
		a->steps = json_pack("[o]", json_sprintf("generation %lld is taken, the oldest: it "
							 "is %s, as all are", (long long)best,
							 trust_name(trust)));
	else
		a->steps = json_pack("[o]", json_sprintf("generation %lld is taken, which is %s; "
							 "the newest, %lld, is %s",
							 (long long)best, trust_name(trust),
							 (long long)newest,
							 trust_name(trust_get(catalog, job, newest,
									      NULL))));
}

void verb_restart_instead(struct request *request, json_t *instead)
{
	struct attempt *a = calloc(1, sizeof(*a));
	json_t *refused;

	if (!a) {
		json_decref(instead);
		request_answer(request, NULL);
		return;
	}
	a->request = request;
	a->instead = instead;
	a->times.asked = (uint64_t)request->came_ms * 1000000;
	a->asked = json_integer_value(json_object_get(request->args, "generation"));
	if (!a->asked)
		prefer_trusted(a);
	refused = caller_asker(request, &a->asker);
	if (refused)
		attempt_answer(a, refused, -1);
	else
		attempt_start(a);
}

static void verb_restart_begin(struct request *request)
{
	verb_restart_instead(request, NULL);
}

static void verb_restart_allowed(struct request *request)
{
	json_t *outcome = confines_take(request) ?:
			  confines_check_restart(request->confines, request->verb);
	struct job *job;

	/* Take what confines the caller now: it may be gone when the job's images are here. */
	if (outcome) {
		request_answer(request, outcome);
		return;
	}
	job = jobs_reconcile_for(request, &outcome);
	json_decref(outcome);
	if (!job || (!precheck_abandon(request, job, verb_restart_begin) &&
		     !precheck_await_over(request, job, verb_restart_begin)))
		verb_restart_begin(request);
}

void verb_restart(struct request *request)
{
	user_limits_pass(request, USER_RESTARTS, verb_restart_allowed);
}
