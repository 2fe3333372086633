// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writes watch; see writes_watch.h.
 *
 * One worker at a time makes a round: it looks at all jobs that run, and at those that have
 * ended since the last round. A job that ended stays in its entry of the registry for a second
 * only, so its number is noted, and the worker's copy of the registry is that of the round's
 * begin. What a round misses, a restart of the job finds in the module.
 */
#include "supervisor/auto/writes_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_writes.h"
#include "supervisor/job/jobs.h"

#define SOON_MS		100	/* several jobs may end together */

struct writes_watch {
	struct common *common;
	struct jobs *jobs;
	struct reactor_source *timer;	/* until the next round; NULL: none is needed */
	struct worker *worker;		/* NULL: no round is under way */
	bool ended;			/* a job has ended since the round began */
	bool failing;			/* that was logged */
	struct job_events_subscriber subscriber;
};

static void writes_watch_soon(struct writes_watch *watch, uint64_t ms);

/* In the worker: the first error. */
static json_t *writes_watch_run(struct channel_reporter *reporter, void *arg)
{
	const struct writes_watch *watch = arg;
	int64_t failed = 0;
	int err = 0;

	(void)reporter;
	for (struct job *job = jobs_next(watch->jobs, NULL); job;
	     job = jobs_next(watch->jobs, job)) {
		int ret;

		if (!job_writes_has(job))
			continue;
		ret = job_is_alive(job) ? job_writes_keep(job) : job_writes_keep_ended(job);
		if (ret && !err) {
			err = ret;
			failed = job->id;
		}
	}
	return err ? outcome_error(err, "job %lld: the names of files that it changes cannot be "
				   "kept: %s", (long long)failed, strerror(-err)) :
		     outcome_ok(NULL);
}

static bool writes_watch_is_needed(const struct writes_watch *watch)
{
	for (struct job *job = jobs_next(watch->jobs, NULL); job;
	     job = jobs_next(watch->jobs, job))
		if (job_is_alive(job) && job_writes_has(job))
			return true;
	return false;
}

static void writes_watch_on_outcome(json_t *outcome, void *arg)
{
	struct writes_watch *watch = arg;
	bool failed = outcome && !outcome_is_ok(outcome);

	watch->worker = NULL;
	if (failed && !watch->failing)
		log_warning(&watch->common->log, "%s", json_string_value(json_object_get(
			    json_object_get(outcome, "error"), "text")));
	watch->failing = failed;
	json_decref(outcome);
	if (watch->ended)
		writes_watch_soon(watch, SOON_MS);
	else if (writes_watch_is_needed(watch))
		writes_watch_soon(watch, WRITES_WATCH_MS);
}

static const struct channel_ops writes_watch_ops = { .outcome = writes_watch_on_outcome };

static const struct worker_kind writes_watch_work = {
	.name = "ckptd-writes",
	.run = writes_watch_run,
};

static void writes_watch_round(void *arg)
{
	struct writes_watch *watch = arg;
	const struct worker_spec spec = { .kind = &writes_watch_work, .arg = watch };

	watch->timer = NULL;
	watch->ended = false;
	if (worker_start(&watch->common->workers, &spec, &writes_watch_ops, watch,
			 &watch->worker))
		writes_watch_soon(watch, WRITES_WATCH_MS);
}

/* Begin a round in @ms, or earlier; after the one that is under way. */
static void writes_watch_soon(struct writes_watch *watch, uint64_t ms)
{
	if (watch->worker || (watch->timer && ms == WRITES_WATCH_MS))
		return;
	reactor_remove(watch->timer);
	watch->timer = NULL;
	if (reactor_timer(watch->common->reactor, ms, writes_watch_round, watch, &watch->timer))
		watch->timer = NULL;
}

static void writes_watch_on_changed(struct job *job, void *arg)
{
	struct writes_watch *watch = arg;

	if (!job_writes_has(job) || job->state == JOB_ELSEWHERE)
		return;
	if (!job_is_alive(job))
		watch->ended = true;
	writes_watch_soon(watch, job_is_alive(job) ? WRITES_WATCH_MS : SOON_MS);
}

static const struct job_events writes_watch_events = { .changed = writes_watch_on_changed };

int writes_watch_open(struct jobs *jobs, struct writes_watch **ret_watch)
{
	struct writes_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->common = jobs_common(jobs);
	watch->jobs = jobs;
	watch->subscriber.events = &writes_watch_events;
	watch->subscriber.arg = watch;
	job_events_subscribe(jobs, &watch->subscriber);
	*ret_watch = watch;
	return 0;
}

void writes_watch_close(struct writes_watch *watch)
{
	if (!watch)
		return;
	job_events_unsubscribe(watch->jobs, &watch->subscriber);
	reactor_remove(watch->timer);
	worker_abort(watch->worker);
	free(watch);
}
