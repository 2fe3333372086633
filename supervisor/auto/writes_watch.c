// SPDX-License-Identifier: GPL-2.0-only
/*
 * The writes watch; see writes_watch.h.
 *
 * One worker at a time makes a round: it looks at all jobs that run, and at those that have
 * ended since the last round. What it remembers of each journal comes back with its outcome, and
 * the next worker inherits it, so that a round reads only what is new. A job that ended stays in
 * its entry of the registry for a second only, so its number is noted, and the worker's copy of the
 * registry is that of the round's begin. What a round misses, a restart of the job finds in the
 * module, if the job is restarted on this node. A part whose home is another node leaves the
 * registry at its end, so its journal is noted then.
 */
#include "supervisor/auto/writes_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "engine/core/write_journal.h"
#include "supervisor/control/worker.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_writes.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"

#define SOON_MS		100	/* several jobs may end together */

struct writes_watch {
	struct common *common;
	struct jobs *jobs;
	struct reactor_source *timer;	/* until the next round; NULL: none is needed */
	struct worker *worker;		/* NULL: no round is under way */
	bool ended;			/* a job has ended since the round began */
	struct job_writes_part *parts;	/* have ended since the round began */
	struct job_writes_part *round;	/* … before: this round keeps their logs */
	bool failing;			/* that was logged */
	struct job_events_subscriber subscriber;
};

static void writes_watch_soon(struct writes_watch *watch, uint64_t ms);

/* ---------------------------------------------------------------- the order */

static int writes_turn_by_user(const void *a, const void *b)
{
	const struct writes_turn *x = a, *y = b;

	if (x->uid != y->uid)
		return x->uid < y->uid ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int writes_turn_by_turn(const void *a, const void *b)
{
	const struct writes_turn *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return writes_turn_by_user(a, b);
}

void writes_turns_sort(struct writes_turn *turns, unsigned int nr)
{
	unsigned int i;

	qsort(turns, nr, sizeof(*turns), writes_turn_by_user);
	for (i = 0; i < nr; i++)
		turns[i].turn = i && turns[i].uid == turns[i - 1].uid ? turns[i - 1].turn + 1 : 0;
	qsort(turns, nr, sizeof(*turns), writes_turn_by_turn);
}

/* All jobs that have a journal, in the order of a round; malloc'ed. NULL: no memory. */
static struct writes_turn *writes_watch_turns(const struct writes_watch *watch,
					      unsigned int *ret_nr)
{
	struct writes_turn *turns;
	unsigned int nr = 0;
	struct job *job;

	for (job = jobs_next(watch->jobs, NULL); job; job = jobs_next(watch->jobs, job))
		nr++;
	turns = calloc(nr + 1, sizeof(*turns));
	if (!turns)
		return NULL;
	nr = 0;
	for (job = jobs_next(watch->jobs, NULL); job; job = jobs_next(watch->jobs, job)) {
		if (job_writes_has(job))
			turns[nr++] = (struct writes_turn) {
				.uid = job->uid, .id = job->id, .job = job,
			};
	}
	writes_turns_sort(turns, nr);
	*ret_nr = nr;
	return turns;
}

/* ---------------------------------------------------------------- the round */

/* [ID, ...]: a mark that the event loop remembers for the next round. */
static json_t *writes_mark_pack(const struct job *job)
{
	const struct write_journal_mark *m = &job->writes;

	return json_pack("[I, I, I, I, I, I, I]", (json_int_t)job->id, (json_int_t)m->ino,
			 (json_int_t)m->end, (json_int_t)m->last.log_ns, (json_int_t)m->last.seq,
			 (json_int_t)m->last.log_flags, (json_int_t)m->last.read_s);
}

static void writes_mark_take(struct jobs *jobs, const json_t *mark)
{
	json_int_t id, ino, end, log_ns, seq, flags, read_s;
	struct job *job;

	if (json_unpack((json_t *)mark, "[I, I, I, I, I, I, I !]", &id, &ino, &end, &log_ns, &seq,
			&flags, &read_s))
		return;
	job = jobs_lookup(jobs, id);
	if (job)
		job->writes = (struct write_journal_mark) {
			.ino = (uint64_t)ino, .end = (uint64_t)end, .last = {
				.log_ns = (uint64_t)log_ns, .seq = (uint64_t)seq,
				.log_flags = (uint32_t)flags, .read_s = (uint64_t)read_s,
			},
		};
}

/* In the worker: the first error, or the marks. */
static json_t *writes_watch_run(struct channel_reporter *reporter, void *arg)
{
	const struct writes_watch *watch = arg;
	unsigned int nr = 0;
	_cleanup_free_ struct writes_turn *turns = writes_watch_turns(watch, &nr);
	json_t *marks = json_array();
	int64_t failed = 0;
	int err = turns ? 0 : -ENOMEM;

	(void)reporter;
	for (unsigned int i = 0; i < nr; i++) {
		struct job *job = turns[i].job;
		int ret = job_is_alive(job) ? job_writes_keep(job, &job->writes) :
			  job_writes_keep_ended(job);

		if (ret && !err) {
			err = ret;
			failed = job->id;
		}
		if (job_is_alive(job))
			json_array_append_new(marks, writes_mark_pack(job));
	}
	for (const struct job_writes_part *part = watch->round; part; part = part->next)
		err = job_writes_keep_part(watch->common, part) ?: err;
	if (!err)
		return outcome_ok(json_pack("{s:o}", "marks", marks));
	json_decref(marks);
	return outcome_error(err, "job %lld: the names of files that it changes cannot be kept: %s",
			     (long long)failed, strerror(-err));
}

static bool writes_watch_is_needed(const struct writes_watch *watch)
{
	for (struct job *job = jobs_next(watch->jobs, NULL); job;
	     job = jobs_next(watch->jobs, job))
		if (job_is_alive(job) && job_writes_has(job))
			return true;
	return false;
}

static void writes_watch_free_parts(struct job_writes_part **parts)
{
	struct job_writes_part *part;

	while ((part = *parts)) {
		*parts = part->next;
		free(part);
	}
}

static void writes_watch_on_outcome(json_t *outcome, void *arg)
{
	struct writes_watch *watch = arg;
	bool failed = outcome && !outcome_is_ok(outcome);
	const json_t *mark;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "marks"), i, mark)
		writes_mark_take(watch->jobs, mark);
	watch->worker = NULL;
	if (failed && !watch->failing)
		log_warning(&watch->common->log, "%s", json_string_value(json_object_get(
			    json_object_get(outcome, "error"), "text")));
	watch->failing = failed;
	json_decref(outcome);
	writes_watch_free_parts(&watch->round);
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
	/* of a round that could not begin there are some already */
	if (!watch->round) {
		watch->round = watch->parts;
		watch->parts = NULL;
	}
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

static void writes_watch_on_part(struct job *job, void *arg)
{
	if (job_writes_has(job))
		writes_watch_soon(arg, WRITES_WATCH_MS);
}

static void writes_watch_on_forgotten(struct job *job, void *arg)
{
	struct writes_watch *watch = arg;
	struct job_writes_part *part;

	/* what ended at its home stays in the registry for a second */
	if (rank_record_node_index(job->record.ranks, watch->common->config.node) <= 0 ||
	    !job_is_alive(job) || !job_writes_has(job))
		return;
	part = job_writes_part(job);
	if (!part)
		return;
	part->next = watch->parts;
	watch->parts = part;
	watch->ended = true;
	writes_watch_soon(watch, SOON_MS);
}

static const struct job_events writes_watch_events = {
	.changed = writes_watch_on_changed,
	.part = writes_watch_on_part,
	.forgotten = writes_watch_on_forgotten,
};

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
	writes_watch_free_parts(&watch->parts);
	writes_watch_free_parts(&watch->round);
	free(watch);
}
