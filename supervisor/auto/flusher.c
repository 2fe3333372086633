// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flusher: background copies to the levels; see flusher.h.
 *
 * Owns the flush worker, and the timer that starts the next one. The daemon lists the generations
 * of a job while no checkpoint of it is being decided, and hands the list to the worker. The
 * worker asks the levels which of them are missing. So nothing has to be remembered over a
 * restart of ckptd: the only state here is how long a level that failed is left alone (put_off.h).
 *
 * A worker may be killed at any instant (levels/level.h), and flusher_hold() does so. A commit
 * asks it to end after the copy under way: the new generation, which that worker does not know,
 * comes before older ones that are still missing.
 */
#include "supervisor/auto/flusher.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/job/coord_record.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/auto/flush_event.h"
#include "supervisor/auto/put_off.h"
#include "supervisor/iotrace/device_judge.h"
#include "supervisor/iotrace/device_watch.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/storage/flush.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/control/worker.h"

#define SOON_MS		200	/* delay, as commits of a job's nodes come one after the other */
#define BUSY_MS		5000	/* until a job that was busy is looked at again */
#define PATIENCE_MS	2000	/* for a killed worker to end */

/* A caller of flusher_hold() that waits for the worker to end. */
struct waiter {
	struct waiter *next;
	void (*fn)(void *arg);
	void *arg;
};

struct flusher {
	struct common *common;
	struct jobs *jobs;
	struct job_events_subscriber subscriber;
	struct worker *worker;
	struct reactor_source *timer;
	int64_t timer_ms;	/* clock_monotonic_ms() of its expiry; 0: no timer */
	bool cut_short;		/* the worker was asked to end after its copy */
	bool all;		/* the running worker looks for its targets: all jobs */
	json_t *targets;	/* of the running worker: jobs and their generations */
	unsigned int usable;	/* of the running worker: bit t: level t may be tried */
	json_t *bad;		/* {NAME: text}: generations that cannot be copied */
	json_t *pending;	/* {"ID": true}: jobs to be looked at; NULL: all */
	unsigned int held;	/* number of flusher_hold() without a release */
	struct waiter *waiters;		/* not empty: the worker was killed */
	struct reactor_source *patience;	/* timer for the killed worker */
	json_int_t left;	/* copies still missing after the last worker */
	json_t *now;		/* progress of the copy under way; NULL: none */
	struct put_off put_off;
	struct device_watch *devices;	/* NULL: not watched */
};

static void look_at(struct flusher *p, int64_t ms);
static void flusher_stopped(struct flusher *p);

static const struct level_configs *levels_of(const struct flusher *p)
{
	return &p->common->config.levels;
}

/* ------------------------------------------------------------------ one target */

/* The generation that is published, as far as this node knows, but not committed; 0: none. */
static json_int_t flusher_undecided(const struct job *job)
{
	struct coord_record record;

	if (coord_record_read(job->state_dir, &record) || !record.prepared.attempt ||
	    record.committed.generation == record.prepared.generation)
		return 0;
	return (json_int_t)record.prepared.generation;
}

/* True if @job or a part of it has been on this node. */
static bool flusher_is_ours(const struct flusher *p, const struct job *job)
{
	const char *node = job_record_node(&job->record);

	return rank_record_node_index(job->record.ranks,
				      p->common->config.node) >= 0 ||
	       (node && !strcmp(node, p->common->config.node));
}

/*
 * The tombstones of @job, a new reference. The home writes them into the record. On another node
 * the record in memory is as old as the start of the part; with a shared image directory the
 * record on disk is newer.
 */
static json_t *flusher_tombstones(const struct flusher *p, const struct job *job)
{
	const struct config *config = &p->common->config;
	json_t *record = NULL, *found;
	const char *uuid;
	struct ckpt_error error = {};
	bool is_its;

	if (config->image_dir_shared &&
	    rank_record_node_index(job->record.ranks, config->node) > 0)
		catalog_job_read(&p->common->catalog, job->id, &record, &error);
	/* a directory that is not mounted may have another job of that number */
	uuid = json_string_value(json_object_get(record, "uuid"));
	is_its = uuid && !strcmp(uuid, job->uuid);
	found = json_incref(is_its ? json_object_get(record, "unwanted") : job->record.tombstones);
	json_decref(record);
	return found;
}

struct flusher_targets {
	const struct flusher *flusher;
	json_t *list;
};

/* Add a job with its generations; for jobs_read_all(), too. */
static void flusher_add_target(const struct job *job, void *arg)
{
	const struct flusher_targets *targets = arg;
	const struct flusher *p = targets->flusher;
	char label[64];

	if (job->busy || !flusher_is_ours(p, job))
		return;
	json_array_append_new(targets->list,
			      json_pack("{s:I, s:s, s:o, s:I, s:o*}", "job", (json_int_t)job->id,
					"label", job_label(job, label), "generations",
					catalog_generations(&p->common->catalog, job->id),
					"undecided", flusher_undecided(job), "unwanted",
					flusher_tombstones(p, job)));
}

/* ---------------------------------------------------------- in the worker */

static void report_event(json_t *event, void *arg)
{
	channel_report_event(arg, event);
}

static void flusher_report_progress(uint64_t done, uint64_t total, void *arg)
{
	const struct engine_progress progress = { .phase = "copy", .done = done, .total = total };

	channel_report_progress(&progress, arg);
}

static unsigned int flusher_usable(const struct flusher *p)
{
	int64_t now = clock_monotonic_ms();
	unsigned int t, bits = 0;

	for (t = 0; t < levels_of(p)->nr; t++)
		bits |= put_off_may(&p->put_off, t, now) ? 1u << t : 0;
	return bits;
}

static json_t *flusher_run(struct channel_reporter *reporter, void *arg)
{
	const struct jobs_wanted everybody = { .everybody = true };
	const struct flusher *p = arg;
	struct flusher_targets found = { .flusher = p, .list = json_incref(p->targets) };
	struct level_configs levels = *levels_of(p);
	const struct flush flush = {
		.catalog = &p->common->catalog,
		.levels = &levels,
		.node = p->common->config.node,
		.state_dir = p->common->config.state_dir,
		.targets = found.list,
		.bad = p->bad,
		.usable = p->usable,
		.merge_limit = p->common->config.merge_limit,
		.merge_memory = p->common->config.pipeline_memory,
		.secret = p->common->config.secret,
		.event = report_event,
		.progress = flusher_report_progress,
		.stop = worker_is_to_stop,
		.arg = reporter,
	};
	json_t *outcome;

	worker_hold_sigterm();
	worker_step_back();
	device_report_avoid(p->common, &levels);
	levels.silent = ~p->usable;
	if (p->all)
		jobs_read_all(p->jobs, &everybody, flusher_add_target, &found);
	outcome = flush_run(&flush);
	json_decref(found.list);
	return outcome;
}

/* ---------------------------------------------------------- in the daemon */

static void flusher_on_progress(json_t *progress, void *arg)
{
	struct flusher *p = arg;

	json_decref(p->now);
	p->now = NULL;
	if (json_object_get(progress, "phase")) {
		p->now = json_incref(progress);
		return;
	}
	flush_event_take(p->jobs, progress);
	if (json_object_get(progress, "copied"))
		device_watch_copied(p->devices,
				    json_integer_value(json_object_get(progress, "job")),
				    json_integer_value(json_object_get(progress, "generation")),
				    json_string_value(json_object_get(progress, "level")),
				    json_integer_value(json_object_get(progress, "bytes")),
				    json_integer_value(json_object_get(progress, "total_ns")));
}

static void flusher_put_off(struct flusher *p, unsigned int t, const json_t *why)
{
	const char *text = json_string_value(json_object_get(why, "text"));
	int64_t wait;

	if (put_off_fail(&p->put_off, t, text ? text : "", clock_monotonic_ms(), &wait))
		log_warning(&p->common->log,
			    "level %s does not work: %s; it is tried again in %lld s, then more "
			    "rarely",
			    levels_of(p)->conf[t].name, text ? text : "", (long long)wait / 1000);
}

static void take_levels(struct flusher *p, const json_t *levels)
{
	unsigned int t;

	for (t = 0; t < levels_of(p)->nr; t++) {
		const json_t *why = json_object_get(levels, levels_of(p)->conf[t].name);

		if (why)
			flusher_put_off(p, t, why);
		else if (p->usable & 1u << t && put_off_work(&p->put_off, t))
			log_info(&p->common->log, "level %s works again",
				 levels_of(p)->conf[t].name);
	}
}

/* Set the timer for levels that are left alone: it may have expired while a worker ran. */
static void look_at_put_off(struct flusher *p)
{
	int64_t now = clock_monotonic_ms();
	unsigned int t;

	for (t = 0; t < levels_of(p)->nr; t++) {
		int64_t left = put_off_left_ms(&p->put_off, t, now);

		if (left >= 0)
			look_at(p, left);
	}
}

static void worker_ended(struct flusher *p)
{
	p->worker = NULL;
	p->cut_short = false;
	p->all = false;
	json_decref(p->targets);
	p->targets = NULL;
	json_decref(p->now);
	p->now = NULL;
}

static void add_pending(struct flusher *p, json_int_t id)
{
	char name[24];

	snprintf(name, sizeof(name), "%lld", (long long)id);
	if (p->pending)
		json_object_set_new(p->pending, name, json_true());
}

/* The jobs of a worker that was cut short may have copies missing: look at them again. */
static void add_targets(struct flusher *p)
{
	const json_t *target;
	size_t i;

	json_array_foreach(p->targets, i, target)
		add_pending(p, json_integer_value(json_object_get(target, "job")));
}

static void flusher_on_outcome(json_t *outcome, void *arg)
{
	struct flusher *p = arg;
	const bool cut_short = p->cut_short;
	const json_t *result = json_object_get(outcome, "result");
	const json_t *text = json_object_get(json_object_get(outcome, "error"), "text");

	if (p->waiters) {
		json_decref(outcome);
		flusher_stopped(p);
		return;
	}
	if (cut_short && p->all) {
		json_decref(p->pending);
		p->pending = NULL;
	} else if (cut_short) {
		add_targets(p);
	}
	worker_ended(p);
	if (outcome_is_ok(outcome)) {
		json_decref(p->bad);
		p->bad = json_incref(json_object_get(result, "bad"));
		p->left = json_integer_value(json_object_get(result, "left"));
		take_levels(p, json_object_get(result, "levels"));
		if (!p->pending || json_object_size(p->pending))
			look_at(p, SOON_MS);
		look_at_put_off(p);
	} else if (cut_short) {
		look_at(p, SOON_MS);	/* SIGTERM may have come before the worker held it */
	} else {
		log_warning(&p->common->log, "nothing is copied to other levels: %s",
			    json_string_value(text));
		json_decref(p->pending);
		p->pending = NULL;
		/* No sooner try: a level that is due would start the next worker at once. */
		look_at(p, PUT_OFF_MAX_MS);
	}
	json_decref(outcome);
}

static const struct channel_ops ops = { flusher_on_progress, flusher_on_outcome };

/* ------------------------------------------------------------------ targets */

static bool is_pending(const struct flusher *p, const struct job *job)
{
	char id[24];

	snprintf(id, sizeof(id), "%lld", (long long)job->id);
	return !p->pending || json_object_get(p->pending, id);
}

/* Load the records of pending jobs: a part that has ended here is not registered any more. */
static void load_pending(const struct flusher *p)
{
	const json_t *value;
	json_t *outcome;
	const char *id;

	json_object_foreach(p->pending, id, value) {
		outcome = NULL;
		if (!jobs_lookup(p->jobs, atoll(id)))
			jobs_reconcile(p->jobs, atoll(id), &outcome);
		json_decref(outcome);
	}
}

/* List the pending jobs with their generations for a worker; busy jobs stay pending. */
static json_t *make_targets(struct flusher *p)
{
	struct flusher_targets found = { .flusher = p, .list = json_array() };
	json_t *busy = json_object();
	struct job *job;
	char id[24];

	for (job = jobs_next(p->jobs, NULL); job; job = jobs_next(p->jobs, job)) {
		if (!is_pending(p, job) || !flusher_is_ours(p, job))
			continue;
		snprintf(id, sizeof(id), "%lld", (long long)job->id);
		if (job->busy)
			json_object_set_new(busy, id, json_true());
		else if (p->pending)
			flusher_add_target(job, &found);
	}
	p->all = !p->pending;
	json_decref(p->pending);
	p->pending = busy;
	return found.list;
}

static const struct worker_kind flusher_work = {
	.name = "ckptd-flush",
	.run = flusher_run,
	.killed = "what it had copied by then stays",
};

static void flusher_start(struct flusher *p)
{
	const struct worker_spec spec = { .kind = &flusher_work, .arg = p };
	int err;

	p->usable = flusher_usable(p);
	load_pending(p);
	p->targets = make_targets(p);
	if (json_object_size(p->pending))
		look_at(p, BUSY_MS);
	if (!p->all && !json_array_size(p->targets)) {
		worker_ended(p);
		return;
	}
	err = jobs_worker_start(p->jobs, &spec, &ops, p, &p->worker);
	if (!err)
		return;
	worker_ended(p);
	log_warning(&p->common->log, "nothing is copied to other levels: no worker: %s",
		    strerror(-err));
	json_decref(p->pending);
	p->pending = NULL;
	look_at(p, PUT_OFF_MS);
}

static void flusher_on_timer(void *arg)
{
	struct flusher *p = arg;
	unsigned int t;

	p->timer = NULL;
	p->timer_ms = 0;
	if (p->worker || p->held)
		return;
	/* A level is due again; no list tells which copies it missed, so look at all jobs. */
	for (t = 0; t < LEVEL_CONFIGS_MAX; t++) {
		if (put_off_is_due(&p->put_off, t, clock_monotonic_ms())) {
			json_decref(p->pending);
			p->pending = NULL;
		}
	}
	if (!p->pending || json_object_size(p->pending))
		flusher_start(p);
	else
		look_at_put_off(p);
}

/* Start a worker in @ms; an earlier timer stays. */
static void look_at(struct flusher *p, int64_t ms)
{
	int64_t when = clock_monotonic_ms() + ms;

	if (p->timer_ms && p->timer_ms <= when)
		return;
	reactor_remove(p->timer);
	p->timer = NULL;
	p->timer_ms = 0;
	if (reactor_timer(p->common->reactor, (uint64_t)ms, flusher_on_timer, p, &p->timer))
		log_error(&p->common->log, "no timer: nothing is copied to other levels until the "
					   "next checkpoint");
	else
		p->timer_ms = when;
}

void flusher_after_commit(struct flusher *p, const struct job *job)
{
	if (!p || !levels_of(p)->nr)
		return;
	add_pending(p, job->id);
	if (p->worker && !p->cut_short) {
		p->cut_short = true;
		worker_kill(p->worker, SIGTERM);
	}
	look_at(p, SOON_MS);
}

/* The killed worker has ended, or hangs and was left: call those that wait in flusher_hold(). */
static void flusher_stopped(struct flusher *p)
{
	struct waiter *w = p->waiters, *next;

	worker_ended(p);
	reactor_remove(p->patience);
	p->patience = NULL;
	p->waiters = NULL;
	json_decref(p->pending);
	p->pending = NULL;
	for (; w; w = next) {
		next = w->next;
		w->fn(w->arg);
		free(w);
	}
}

static void flusher_on_patience_over(void *arg)
{
	struct flusher *p = arg;

	p->patience = NULL;
	log_warning(&p->common->log, "the flush to other levels did not stop in time: continuing "
				     "without it; its worker ends when its disk answers");
	worker_leave(p->worker);
	flusher_stopped(p);
}

bool flusher_hold(struct flusher *p, void (*fn)(void *arg), void *arg)
{
	struct waiter *w;

	p->held++;
	if (!p->worker)
		return true;
	w = calloc(1, sizeof(*w));
	if (!w || (!p->patience && reactor_timer(p->common->reactor, PATIENCE_MS,
						 flusher_on_patience_over, p, &p->patience))) {
		free(w);
		worker_leave(p->worker);
		flusher_stopped(p);
		return true;
	}
	*w = (struct waiter) { .next = p->waiters, .fn = fn, .arg = arg };
	p->waiters = w;
	worker_kill(p->worker, SIGKILL);
	return false;
}

void flusher_release(struct flusher *p)
{
	if (!--p->held && levels_of(p)->nr)
		look_at(p, SOON_MS);
}

void flusher_changed(struct flusher *p, const char *label)
{
	flush_forget(p->bad, label);
}

json_t *flusher_describe(const struct flusher *p)
{
	json_t *levels = put_off_describe(&p->put_off, levels_of(p), clock_monotonic_ms());

	return json_pack("{s:b, s:I, s:O?, s:o, s:O}", "running", p->worker != NULL, "left",
			 p->left, "now", p->now, "levels", levels, "bad", p->bad);
}

static void flusher_on_committed(const struct job_commit *commit, struct job *job, void *arg)
{
	flusher_after_commit(arg, job);
}

static void flusher_on_tombstoned(struct job *job, void *arg)
{
	flusher_after_commit(arg, job);
}

static const struct job_events flusher_events = {
	.committed = flusher_on_committed, .tombstoned = flusher_on_tombstoned,
};

int flusher_open(struct jobs *jobs, struct device_watch *devices, struct flusher **ret_flusher)
{
	struct flusher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->common = jobs_common(jobs);
	p->jobs = jobs;
	p->devices = devices;
	p->bad = json_object();
	p->subscriber.events = &flusher_events;
	p->subscriber.arg = p;
	job_events_subscribe(jobs, &p->subscriber);
	*ret_flusher = p;
	if (levels_of(p)->nr)
		look_at(p, SOON_MS);
	return 0;
}

void flusher_close(struct flusher *p)
{
	if (!p)
		return;
	job_events_unsubscribe(p->jobs, &p->subscriber);
	if (p->worker)
		worker_abort(p->worker);
	worker_ended(p);
	reactor_remove(p->patience);
	while (p->waiters) {
		struct waiter *w = p->waiters;

		p->waiters = w->next;
		free(w);
	}
	reactor_remove(p->timer);
	json_decref(p->bad);
	json_decref(p->pending);
	put_off_done(&p->put_off);
	free(p);
}
