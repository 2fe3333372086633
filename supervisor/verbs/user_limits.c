// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of one user; see user_limits.h.
 *
 * Deciding is pure. The registry has the figures of live jobs; a worker counts records and bytes,
 * and looks at the user's own jobs only. Must not count in the event loop: the time grows with the
 * user's images.
 */
#include "supervisor/verbs/user_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/job/user_jobs.h"
#include "supervisor/job/user_size.h"

/* ---------------------------------------------------------------- deciding */

json_t *user_limits_check(const struct config *config, enum user_act act,
			  const struct user_figures *figures)
{
	int64_t least = (int64_t)config->user_min_interval_s * 1000;

	json_t *no = act != USER_CHECKPOINTS ? user_jobs_check(config, figures->jobs) : NULL;

	if (no)
		return no;
	if (act == USER_CHECKPOINTS && figures->since_ms >= 0 && figures->since_ms < least)
		return outcome_error(-EAGAIN,
				     "user_min_interval: you asked for a checkpoint %" PRId64
				     " s ago, and a user has to let %u s pass; try again in "
				     "%" PRId64 " s",
				     figures->since_ms / 1000, config->user_min_interval_s,
				     (least - figures->since_ms + 999) / 1000);
	return NULL;
}

bool user_limits_need_disk(const struct config *config, enum user_act act)
{
	return (act == USER_RUNS && (config->user_max_records || user_size_is_limited(config))) ||
	       (act == USER_CHECKPOINTS && user_size_is_limited(config));
}

json_t *user_limits_check_disk(const struct config *config, enum user_act act,
			       const struct user_figures *figures)
{
	if (act == USER_RUNS && config->user_max_records &&
	    figures->records >= config->user_max_records)
		return outcome_error(-EDQUOT,
				     "user_max_records: you have %" PRIu64 " recorded jobs, of %u "
				     "that a user may have; remove jobs that are over (ckptctl ps "
				     "--all, ckptctl rm JOB)",
				     figures->records, config->user_max_records);
	return act != USER_RESTARTS ? user_size_check(config, &figures->room) : NULL;
}

/* ---------------------------------------------------------------- counting */

static struct user_figures user_limits_count(struct jobs *jobs, uid_t uid)
{
	struct user_figures figures = { .since_ms = -1 };
	int64_t now = clock_monotonic_ms();
	struct job *job;

	for (job = jobs_next(jobs, NULL); job; job = jobs_next(jobs, job)) {
		if (job->uid != uid || !job_is_alive(job))
			continue;
		figures.jobs++;
		if (job->asked_ms &&
		    (figures.since_ms < 0 || now - job->asked_ms < figures.since_ms))
			figures.since_ms = now - job->asked_ms;
	}
	return figures;
}

struct user_gate {
	struct request *request;
	enum user_act act;
	request_fn go;
	struct user_figures figures;	/* in the worker */
	struct worker *worker;
};

static void user_gate_add(const struct job *job, void *arg)
{
	struct user_gate *gate = arg;

	gate->figures.records++;
	if (user_size_counts(&gate->request->common->config, &gate->figures.room))
		gate->figures.room.bytes += user_size_of(job);
}

static json_t *user_gate_run(struct channel_reporter *reporter, void *arg)
{
	struct user_gate *gate = arg;
	const struct request *request = gate->request;
	const struct config *config = &request->common->config;
	const struct jobs_wanted wanted = { .uid = request->uid };

	user_size_free(config, &gate->figures.room);
	if (config->user_max_records || user_size_counts(config, &gate->figures.room))
		jobs_read_all(request->jobs, &wanted, user_gate_add, gate);
	return user_limits_check_disk(config, gate->act, &gate->figures) ?: outcome_ok(NULL);
}

/* ---------------------------------------------------------------- the gate */

static json_t *user_limits_check_live(const struct request *request, enum user_act act)
{
	const struct user_figures figures = user_limits_count(request->jobs, request->uid);

	return user_limits_check(&request->common->config, act, &figures);
}

static void user_gate_on_progress(json_t *progress, void *arg)
{
}

static void user_gate_on_outcome(json_t *outcome, void *arg)
{
	struct user_gate gate = *(struct user_gate *)arg;
	bool pass = outcome_is_ok(outcome) && !request_abandoned(gate.request);

	free(arg);
	request_on_abandon(gate.request, NULL, NULL);
	/* Other requests of this user may have passed meanwhile. */
	if (pass) {
		json_decref(outcome);
		outcome = user_limits_check_live(gate.request, gate.act);
	}
	if (pass && !outcome)
		gate.go(gate.request);
	else
		request_answer(gate.request, outcome);
}

static const struct worker_kind user_gate_work = {
	.name = "ckptd-limits",
	.run = user_gate_run,
};

static void user_gate_start(struct request *request, enum user_act act, request_fn go)
{
	static const struct channel_ops ops = { user_gate_on_progress, user_gate_on_outcome };
	struct worker_spec spec = { .kind = &user_gate_work };
	struct user_gate *gate = calloc(1, sizeof(*gate));
	int err = -ENOMEM;

	if (gate) {
		*gate = (struct user_gate) { .request = request, .act = act, .go = go };
		spec.arg = gate;
		err = jobs_worker_start(request->jobs, &spec, &ops, gate, &gate->worker);
	}
	if (!err) {
		request_on_abandon(request, worker_on_abandon, gate->worker);
		return;
	}
	free(gate);
	request_answer(request, outcome_error(err, "the limits of a user cannot be checked: no "
					      "worker: %s", strerror(-err)));
}

void user_limits_pass(struct request *request, enum user_act act, request_fn go)
{
	json_t *outcome = request->uid ? user_limits_check_live(request, act) : NULL;

	if (outcome)
		request_answer(request, outcome);
	else if (request->uid && user_limits_need_disk(&request->common->config, act))
		user_gate_start(request, act, go);
	else
		go(request);
}
