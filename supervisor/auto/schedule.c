// SPDX-License-Identifier: GPL-2.0-only
/*
 * The schedule: checkpoints that ckptd takes by itself; see schedule.h.
 *
 * Owns the schedule entry of each running job that has automatic checkpoints, and one timer for
 * the earliest entry. Every change (a job starts, ends, is checkpointed by somebody) leads to
 * schedule_look(), which derives the entries from the jobs alone: no registration can be missed.
 *
 * A checkpoint that is refused or fails is tried again, with a longer delay each time; the job
 * itself is not harmed. A busy job is looked at again after BUSY_MS.
 */
#include "supervisor/auto/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"
#include "supervisor/catalog/history.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_memory.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/job/user_size.h"
#include "base/outcome.h"

#define EVERY_MIN_MS	100
#define BUSY_MS		500	/* until a busy job is looked at again */
#define RETRY_MS	10000	/* after the first failure; doubles with each failure in a row */
#define RETRY_MAX_MS	600000	/* limit of that delay, unless the interval is longer */
#define SOON_MS		1000	/* least delay of a new entry, for what waits since ckptd's start */
/* Limits of an interval that is a guess, before a checkpoint was measured. */
#define GUESS_MIN_MS	10000
#define GUESS_MAX_MS	3600000
#define LOOK_MAX_MS	3600000	/* longest timer; a later entry sets it again */

struct schedule_entry {
	struct schedule *schedule;
	struct job *job;
	int64_t due_ms;		/* of the next checkpoint, by clock_monotonic_ms() */
	int64_t interval_ms;
	bool guessed;		/* the interval is a guess; find due_ms again when it comes */
	bool own;		/* a checkpoint that the schedule began is under way */
	bool gone;		/* forgotten while own is set; schedule_on_ended() frees it */
	struct worker *counting;	/* counts the owner's bytes before a checkpoint */
	unsigned int failures;	/* in a row */
	struct ckpt_error failure;	/* the last one */
};

struct schedule {
	struct common *common;
	struct jobs *jobs;
	struct reactor_source *timer;
	int64_t timer_ms;
	struct job_events_subscriber subscriber;
};

static int64_t schedule_clamp(int64_t value, int64_t low, int64_t high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

/* -------------------------------------------------------------- settings */

bool schedule_is_on(const struct job *job)
{
	return job->record.automatic.on;
}

json_t *schedule_parse(const json_t *settings, struct job_automatic *ret_settings)
{
	json_int_t every = EVERY_MIN_MS, mtbf = 1, node_mtbf = 1;
	struct ckpt_error error;
	json_error_t why;

	if (json_unpack_ex((json_t *)settings, &why, 0, "{s?I, s?I, s?I !}", "every_ms", &every,
			   "mtbf_ms", &mtbf, "node_mtbf_ms", &node_mtbf))
		return outcome_usage("automatic checkpoints: bad arguments: %s", why.text);
	if (every < EVERY_MIN_MS || every > DURATION_MAX_MS)
		return outcome_usage("automatic checkpoints: an interval is at least %d ms",
				     EVERY_MIN_MS);
	if (mtbf <= 0 || mtbf > DURATION_MAX_MS || node_mtbf <= 0 || node_mtbf > DURATION_MAX_MS)
		return outcome_usage("automatic checkpoints: the time between failures has to be "
				     "above 0");
	if (ret_settings && job_automatic_decode(settings, ret_settings, &error))
		return outcome_error(error.err, "automatic checkpoints: %s", error.text);
	return NULL;
}

static bool take_rates(const struct job_automatic *settings, const char *from,
		       const char *node_from, struct advice_rates *rates)
{
	rates->mtbf_ms = settings->mtbf_ms;
	rates->node_mtbf_ms = settings->node_mtbf_ms;
	rates->from = rates->mtbf_ms ? from : node_from;
	return rates->mtbf_ms || rates->node_mtbf_ms;
}

void schedule_rates(const struct job *job, const struct job_automatic *own,
		    struct advice_rates *ret_rates)
{
	const json_t *nodes = rank_record_nodes(job->record.ranks);
	struct advice_rates rates = {
		.nodes = nodes ? (unsigned int)json_array_size(nodes) : 1,
		.slowdown = ADVICE_SLOWDOWN,
	};

	if ((!own || !take_rates(own, "--mtbf", "--node-mtbf", &rates)) &&
	    !take_rates(&job->record.automatic, "the job's settings", "the job's settings",
			&rates)) {
		rates.node_mtbf_ms = (int64_t)jobs_common(job->jobs)->config.node_mtbf_s * 1000;
		rates.from = "node_mtbf of ckptd.conf";
	}
	*ret_rates = rates;
}

json_t *schedule_describe(const struct job *job)
{
	const struct schedule_entry *a = job->schedule_entry;
	json_t *json;

	if (!schedule_is_on(job))
		return NULL;
	json = job_automatic_encode(&job->record.automatic);
	if (!a)
		return json;
	json_object_set_new(json, "interval_ms", json_integer(a->interval_ms));
	json_object_set_new(json, "guessed", json_boolean(a->guessed));
	if (!a->own)
		json_object_set_new(json, "next_ms",
				    json_integer(schedule_clamp(a->due_ms - clock_monotonic_ms(), 0,
								INT64_MAX)));
	if (a->failures) {
		json_object_set_new(json, "failures", json_integer(a->failures));
		json_object_set_new(json, "error", json_string(a->failure.text));
	}
	return json;
}

/* ------------------------------------------------------ schedule entries */

static const struct log *log_of(const struct job *job)
{
	return &jobs_common(job->jobs)->log;
}

/*
 * When the last checkpoint was taken, in seconds since 1970; 0: none. Rows of flushes and of
 * restarts do not count.
 */
static int64_t last_taken(const json_t *rows)
{
	size_t n = json_array_size(rows);

	while (n--) {
		const json_t *row = json_array_get(rows, n);

		if (json_object_get(row, "generation") && !json_object_get(row, "level"))
			return json_integer_value(json_object_get(row, "taken"));
	}
	return 0;
}

/* Set the interval from the settings, or from the history; *ret_last: last_taken(). */
static void find_interval(struct schedule_entry *a, int64_t *ret_last)
{
	const struct job *job = a->job;
	json_t *rows = history_read(&jobs_common(job->jobs)->catalog, job->id);
	struct advice_rates rates;
	struct advice_costs costs;
	const char *why = NULL;

	schedule_rates(job, NULL, &rates);
	*ret_last = last_taken(rows);
	a->interval_ms = job->record.automatic.every_ms;
	a->guessed = false;
	if (!a->interval_ms) {
		a->guessed = !advice_measure(rows, &costs);
		if (a->guessed)
			advice_guess(job_memory(job->init) * rates.nodes, &costs);
		/* As in Daly's formula where a checkpoint costs more than the MTBF. */
		if (advice_interval(&costs, &rates, &a->interval_ms, &why)) {
			log_warning(log_of(job), "job %lld: automatic checkpoints: %s",
				    (long long)job->id, why);
			a->interval_ms = rates.mtbf_ms ? rates.mtbf_ms :
					 rates.node_mtbf_ms / rates.nodes;
		}
	}
	if (a->guessed)
		a->interval_ms = schedule_clamp(a->interval_ms, GUESS_MIN_MS, GUESS_MAX_MS);
	a->interval_ms = schedule_clamp(a->interval_ms, EVERY_MIN_MS, DURATION_MAX_MS);
	json_decref(rows);
}

/* Set interval and due time of a new entry, or of one whose interval was a guess. */
static void find_due(struct schedule_entry *a)
{
	int64_t last, since = a->job->record.change.since, now = time(NULL), waited;

	find_interval(a, &last);
	/*
	 * Count from the start of this run: earlier checkpoints are another run's. Both times lie
	 * in the future if the clock was put back.
	 */
	if (since > last)
		last = since;
	waited = schedule_clamp((now - last) * 1000, 0, a->interval_ms);
	a->due_ms = clock_monotonic_ms() + schedule_clamp(a->interval_ms - waited, 0, INT64_MAX);
}

static bool schedule_wanted(const struct job *job)
{
	return schedule_is_on(job) && job->state == JOB_RUNNING && !job->saving &&
	       !job->node_index;
}

static void schedule_appoint(struct schedule *s, struct job *job)
{
	struct schedule_entry *a = calloc(1, sizeof(*a));
	char text[32];

	if (!a)
		return;		/* the next look tries again */
	a->schedule = s;
	a->job = job;
	job->schedule_entry = a;
	find_due(a);
	if (a->due_ms < clock_monotonic_ms() + SOON_MS)
		a->due_ms = clock_monotonic_ms() + schedule_clamp(a->interval_ms, 0, SOON_MS);
	log_info(log_of(job), "job %lld: checkpoints by itself, every %s%s", (long long)job->id,
		 duration_text(a->interval_ms, text), a->guessed ?
		 ", a guess until one is taken" : "");
}

/* Forget @job's entry: the job is about to be freed, or is to have no checkpoint now. */
static void schedule_forget(struct job *job)
{
	struct schedule_entry *a = job->schedule_entry;

	job->schedule_entry = NULL;
	if (!a)
		return;
	a->job = NULL;
	if (a->counting) {
		worker_leave(a->counting);
		free(a);
	} else if (a->own) {
		a->gone = true;		/* schedule_on_ended() frees it */
	} else {
		free(a);
	}
}

static void schedule_poke(struct schedule *s);

/* A checkpoint of @job that began at @began_ms was committed, whoever asked for it. */
static void schedule_taken(struct job *job, int64_t began_ms)
{
	struct schedule_entry *a = job->schedule_entry;
	int64_t last, now = clock_monotonic_ms();

	if (!a)
		return;
	find_interval(a, &last);
	a->failures = 0;
	/* Never back to back: leave the job a tenth of the interval to work. */
	a->due_ms = began_ms + a->interval_ms;
	if (a->due_ms < now + a->interval_ms / 10)
		a->due_ms = now + a->interval_ms / 10;
	schedule_poke(a->schedule);
}

static void schedule_failed(struct schedule_entry *a, const json_t *outcome)
{
	const char *text = json_string_value(json_object_get(json_object_get(outcome, "error"),
							     "text"));
	int64_t wait = schedule_clamp(a->interval_ms, EVERY_MIN_MS, RETRY_MS);
	int64_t most = schedule_clamp(a->interval_ms, RETRY_MAX_MS, DURATION_MAX_MS);
	unsigned int i;
	char buf[32];

	for (i = 0; i < a->failures && wait < most; i++)
		wait *= 2;
	wait = schedule_clamp(wait, 0, most);
	a->failures++;
	a->due_ms = clock_monotonic_ms() + wait;
	error_set(&a->failure, outcome_errno(outcome), "%s", text ? text : "out of memory");
	log_warning(log_of(a->job),
		    "job %lld: automatic checkpoint failed (%u in a row), next try in %s: %s",
		    (long long)a->job->id, a->failures, duration_text(wait, buf), a->failure.text);
}

static void schedule_on_ended(json_t *outcome, void *arg)
{
	struct schedule_entry *a = arg;

	a->own = false;
	if (a->gone) {
		free(a);
	} else {
		if (!outcome_is_ok(outcome) && job_is_alive(a->job))
			schedule_failed(a, outcome);
		schedule_poke(a->schedule);
	}
	json_decref(outcome);
}

static void schedule_begin(struct schedule_entry *a)
{
	static const struct job_checkpoint_ops ops = { .ended = schedule_on_ended };
	const struct job_checkpoint_options options = { .automatic = true, .max_pause_ms = -1 };
	json_t *outcome;

	a->own = true;
	outcome = a->job->ops->checkpoint(a->job, &options, &ops, a);
	if (outcome)
		schedule_on_ended(outcome, a);
}

static void schedule_on_progress(json_t *progress, void *arg)
{
}

/* The owner's bytes are counted. A job that is forgotten meanwhile does not come here. */
static void schedule_on_counted(json_t *outcome, void *arg)
{
	struct schedule_entry *a = arg;

	a->counting = NULL;
	if (!outcome_is_ok(outcome)) {
		schedule_on_ended(outcome, a);
		return;
	}
	json_decref(outcome);
	a->own = false;
	if (a->job->busy) {
		a->due_ms = clock_monotonic_ms() + BUSY_MS;
	} else if (a->due_ms <= clock_monotonic_ms()) {
		schedule_begin(a);
		return;
	}
	/* else somebody has taken one meanwhile */
	schedule_poke(a->schedule);
}

/* A user's checkpoint is taken if he has room for it (user_size.h), as if he asked for it. */
static void schedule_count(struct schedule_entry *a)
{
	static const struct channel_ops ops = { schedule_on_progress, schedule_on_counted };
	int err;

	if (!a->job->uid || !user_size_is_limited(&a->schedule->common->config)) {
		schedule_begin(a);
		return;
	}
	a->own = true;
	err = user_size_start(a->schedule->jobs, a->job->uid, &ops, a, &a->counting);
	if (err)
		schedule_on_ended(outcome_error(err, "the user's room cannot be checked: no "
						"worker: %s", strerror(-err)), a);
}

static void schedule_keep(struct schedule_entry *a)
{
	if (a->own || a->due_ms > clock_monotonic_ms())
		return;
	/* The job may use more memory by now. */
	if (a->guessed) {
		find_due(a);
		if (a->due_ms > clock_monotonic_ms())
			return;
	}
	if (a->job->busy)
		a->due_ms = clock_monotonic_ms() + BUSY_MS;
	else
		schedule_count(a);
}

/* ------------------------------------------------------------------ timer */

static void schedule_on_timer(void *arg);

static void schedule_arm(struct schedule *s, int64_t at_ms)
{
	int64_t now = clock_monotonic_ms();

	if (s->timer && s->timer_ms <= at_ms)
		return;
	reactor_remove(s->timer);
	s->timer = NULL;
	s->timer_ms = schedule_clamp(at_ms, now, now + LOOK_MAX_MS);
	if (reactor_timer(s->common->reactor, (uint64_t)(s->timer_ms - now), schedule_on_timer, s,
			  &s->timer))
		log_error(&s->common->log, "cannot set the timer of automatic checkpoints: the "
					   "schedule tries again when a job changes");
}

static void schedule_look(struct schedule *s)
{
	struct jobs *jobs = s->jobs;
	struct schedule_entry *a;
	struct job *job;

	for (job = jobs_next(jobs, NULL); job; job = jobs_next(jobs, job)) {
		if (!schedule_wanted(job)) {
			schedule_forget(job);
			continue;
		}
		if (!job->schedule_entry)
			schedule_appoint(s, job);
		else
			schedule_keep(job->schedule_entry);
		a = job->schedule_entry;
		if (a && !a->own)
			schedule_arm(s, a->due_ms);
	}
}

static void schedule_on_timer(void *arg)
{
	struct schedule *s = arg;

	s->timer = NULL;
	schedule_look(s);
}

/* Run schedule_look() from the event loop: the caller may be in the middle of a change. */
static void schedule_poke(struct schedule *s)
{
	schedule_arm(s, clock_monotonic_ms());
}

void schedule_changed(struct job *job)
{
	schedule_forget(job);
	job_events_changed(job);
}

static void schedule_on_committed(const struct job_commit *commit, struct job *job, void *arg)
{
	if (commit->taken)
		schedule_taken(job, commit->began_ms);
}

static void schedule_on_changed(struct job *job, void *arg)
{
	schedule_poke(arg);
}

static void schedule_on_forgotten(struct job *job, void *arg)
{
	schedule_forget(job);
}

static const struct job_events schedule_events = {
	.committed = schedule_on_committed,
	.changed = schedule_on_changed,
	.forgotten = schedule_on_forgotten,
};

int schedule_open(struct jobs *jobs, struct schedule **ret_schedule)
{
	struct schedule *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->common = jobs_common(jobs);
	s->jobs = jobs;
	s->subscriber.events = &schedule_events;
	s->subscriber.arg = s;
	job_events_subscribe(jobs, &s->subscriber);
	*ret_schedule = s;
	schedule_arm(s, clock_monotonic_ms());
	return 0;
}

void schedule_close(struct schedule *schedule)
{
	struct jobs *jobs;
	struct job *job;

	if (!schedule)
		return;
	jobs = schedule->jobs;
	/* Free the entries now: no event tells of freed jobs after the unsubscription. */
	for (job = jobs_next(jobs, NULL); job; job = jobs_next(jobs, job))
		schedule_forget(job);
	job_events_unsubscribe(schedule->jobs, &schedule->subscriber);
	reactor_remove(schedule->timer);
	free(schedule);
}
