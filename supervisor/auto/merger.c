// SPDX-License-Identifier: GPL-2.0-only
/*
 * The merger: background merging of generations; see merger.h.
 *
 * Owns the workers that merge: at most one that a commit started, and one for each request. A
 * worker knows its job by number and label, as the job may be forgotten meanwhile. A worker may
 * be killed at any instant (image/merge.h), and merger_stop() does so.
 *
 * A damaged base damages every generation built on it: the job's next checkpoint is then a full
 * one (job->bad_base).
 */
#include "supervisor/auto/merger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "image/reader.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/jobs.h"
#include "supervisor/catalog/merge.h"
#include "engine/op/op_args.h"
#include "base/outcome.h"
#include "supervisor/auto/flusher.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/control/worker.h"

struct merger_run {
	struct merger_run *next;
	struct merger *merger;
	struct request *request;	/* NULL: after a commit */
	struct worker *worker;
	int64_t job, generation;
	char label[64];
	bool dry_run;
};

struct merger {
	struct common *common;
	struct jobs *jobs;
	struct flusher *flusher;
	struct merger_run *runs;
	json_t *pending;		/* {"ID": true}: jobs to be looked at */
	struct job_events_subscriber subscriber;
};

static void start_pending(struct merger *merger);

/* ---------------------------------------------------------- in the worker */

static void merger_report_progress(uint64_t done, uint64_t total, void *arg)
{
	const struct engine_progress progress = { .phase = "merge", .done = done, .total = total };

	channel_report_progress(&progress, arg);
}

/* The number of earlier generations from which a chain is merged; 0: at no length. */
static unsigned int merger_threshold(const struct config *config)
{
	unsigned int chain = config->incremental ? config->incremental : OP_CHAIN_MAX;

	return config->merge_after < chain ? config->merge_after : chain;
}

static json_t *merger_describe(const struct merger_run *run, const struct image_merged *m,
			       int64_t took_ms)
{
	json_t *result = json_pack("{s:I, s:I, s:b, s:i, s:I, s:I}", "job", (json_int_t)run->job,
				   "generation", (json_int_t)run->generation, "merged",
				   m->nr_bases && !run->dry_run, "bases", (int)m->nr_bases,
				   "bytes_was", (json_int_t)m->bytes_was, "bytes_base",
				   (json_int_t)m->bytes_base);

	if (run->dry_run)
		json_object_set_new(result, "dry_run", json_true());
	else if (m->nr_bases)
		json_object_update_new(result, json_pack("{s:I, s:I}", "bytes_stored",
							 (json_int_t)m->bytes_is, "total_ns",
							 (json_int_t)took_ms * 1000000));
	return result;
}

/*
 * Look at the chain. After a commit, @merged->nr_bases becomes 0 (nothing to merge) unless
 * merge_look() fails with -EMLINK or -EFBIG. A request merges a chain of any length.
 */
static int merger_look(const struct merger_run *run, const struct merge_request *r,
		       struct image_merged *merged, struct ckpt_error *error)
{
	const struct config *config = &run->merger->common->config;
	int err =
		merge_look(r, run->request ? UINT32_MAX : merger_threshold(config), merged, error);

	if (run->request)
		return err == -EFBIG || err == -EMLINK ? 0 : err;
	if (!err)
		merged->nr_bases = 0;
	return err == -EFBIG || err == -EMLINK ? 0 : err;
}

static json_t *merger_run(struct channel_reporter *reporter, void *arg)
{
	const struct merger_run *run = arg;
	const struct common *common = run->merger->common;
	struct merge_request r = {
		.catalog = &common->catalog,
		.node = common->config.node,
		.job = run->job,
		.generation = run->generation,
		.label = run->label,
		.limit = common->config.merge_limit,
		.progress = merger_report_progress,
		.arg = reporter,
		.memory = common->config.pipeline_memory,
	};
	const struct op_env env = {
		.key = common->config.key, .secret = common->config.secret,
	};
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	json_t *failure = NULL;
	struct image_merged merged;
	int64_t began = clock_monotonic_ms();
	int err;

	worker_step_back();
	err = op_key_load(&env, false, &key, &failure);
	if (failure)
		return failure;
	r.key = key;
	if (!err)
		err = merger_look(run, &r, &merged, &error);
	if (!err && merged.nr_bases && !run->dry_run)
		err = merge_generation(&r, &merged, &error);
	image_key_destroy(key);
	return err ? outcome_error(err, "%s", error.text) :
	       outcome_ok(merger_describe(run, &merged, clock_monotonic_ms() - began));
}

/* ---------------------------------------------------------- in the daemon */

static void merger_run_free(struct merger_run *run)
{
	struct merger_run **at = &run->merger->runs;

	while (*at && *at != run)
		at = &(*at)->next;
	if (*at)
		*at = run->next;
	free(run);
}

/*
 * A base that cannot be read counts as damaged, too: each later generation would need it. A
 * merged image that cannot be written has the same error, and costs a full checkpoint.
 */
static bool is_damaged(int err)
{
	return err == -EBADMSG || image_is_unreadable(err);
}

static void log_failure(const struct merger_run *run, const json_t *outcome)
{
	const struct log *log = &run->merger->common->log;
	const char *text =
		json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));
	int err = outcome_errno(outcome);

	/* The generation is gone, or the flusher is working on it. */
	if (err == -ENOENT || err == -EBUSY)
		log_debug(log, "job %lld: generation %lld is not merged: %s", (long long)run->job,
			  (long long)run->generation, text);
	else if (is_damaged(err))
		log_error(log,
			  "job %lld: generation %lld is damaged or its disk fails, and its next "
			  "checkpoint is a full one: %s",
			  (long long)run->job, (long long)run->generation, text);
	else
		log_warning(log, "job %lld: generation %lld is not merged and stays as it is: %s",
			    (long long)run->job, (long long)run->generation, text);
}

void merger_log(const struct log *log, int64_t job, int64_t generation, int64_t bytes,
		int64_t took_ns)
{
	log_info(log,
		 "job %lld: generation %lld is merged and needs no earlier one: %lld bytes in %.2f "
		 "s",
		 (long long)job, (long long)generation, (long long)bytes, (double)took_ns / 1e9);
}

static void take_outcome(const struct merger_run *run, const json_t *outcome)
{
	struct common *common = run->merger->common;
	struct job *job = jobs_lookup(run->merger->jobs, run->job);
	const json_t *result = json_object_get(outcome, "result");

	if (run->dry_run)
		return;
	if (!outcome_is_ok(outcome)) {
		log_failure(run, outcome);
		if (job && is_damaged(outcome_errno(outcome)))
			job->bad_base = true;
		return;
	}
	if (json_is_true(json_object_get(result, "merged"))) {
		merger_log(&common->log, run->job, run->generation,
			   json_integer_value(json_object_get(result, "bytes_stored")),
			   json_integer_value(json_object_get(result, "total_ns")));
		flusher_changed(run->merger->flusher, run->label);
	}
	/* The flusher may have been unable to copy the generation before it was merged. */
	if (job)
		flusher_after_commit(run->merger->flusher, job);
}

static void merger_on_progress(json_t *progress, void *arg)
{
	const struct merger_run *run = arg;

	if (run->request)
		request_progress(run->request, progress);
}

static void merger_on_outcome(json_t *outcome, void *arg)
{
	struct merger_run *run = arg;
	struct merger *merger = run->merger;
	struct request *request = run->request;

	take_outcome(run, outcome);
	merger_run_free(run);
	if (request)
		request_answer(request, outcome);
	else
		json_decref(outcome);
	start_pending(merger);
}

static const struct channel_ops ops = { merger_on_progress, merger_on_outcome };

static const struct worker_kind merger_work = {
	.name = "ckptd-merge",
	.run = merger_run,
	.killed = "a generation is what it was, or merged: ckptctl merge --dry-run tells",
};

static int merger_start(struct merger *merger, struct request *request, const struct job *job,
			int64_t generation, bool dry_run)
{
	struct worker_spec spec = { .kind = &merger_work };
	struct merger_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	*run = (struct merger_run) {
		.next = merger->runs, .merger = merger, .request = request, .job = job->id,
		.generation = generation, .dry_run = dry_run,
	};
	job_label(job, run->label);
	merger->runs = run;
	spec.arg = run;
	err = worker_start(&merger->common->workers, &spec, &ops, run, &run->worker);
	if (err)
		merger_run_free(run);
	return err;
}

/* Merge the next pending job. A busy job is dropped: its next commit makes it pending again. */
static void start_pending(struct merger *merger)
{
	const struct common *common = merger->common;
	const struct merger_run *run;
	const char *id;
	json_t *unused;
	void *next;
	int err;

	for (run = merger->runs; run; run = run->next)
		if (!run->request)
			return;
	json_object_foreach_safe(merger->pending, next, id, unused) {
		json_t *no = NULL;
		/* The entry of a job that has ended since its commit is gone: read it again. */
		const struct job *job = jobs_reconcile(merger->jobs, strtoll(id, NULL, 10), &no);

		json_decref(no);
		json_object_del(merger->pending, id);
		if (!job || job->busy)
			continue;
		err = merger_start(merger, NULL, job, catalog_last(&common->catalog, job->id),
				   false);
		if (!err)
			return;
		log_warning(&common->log, "job %lld: nothing is merged: no worker: %s",
			    (long long)job->id, strerror(-err));
	}
}

/* @job has a new generation, which needs earlier ones. */
static void merger_after_commit(struct merger *merger, const struct job *job)
{
	char id[24];

	if (!merger->common->config.merge_after)
		return;
	snprintf(id, sizeof(id), "%lld", (long long)job->id);
	json_object_set_new(merger->pending, id, json_true());
	start_pending(merger);
}

/*
 * End all merging of @job, because its images or the disk are needed. A waiting request is
 * answered with -EINTR. @wait: wait briefly for the workers' end, as worker_abort() does; else
 * as worker_leave().
 */
static void merger_stop(struct merger *merger, int64_t job, bool wait)
{
	struct merger_run *run, *next;
	char id[24];

	snprintf(id, sizeof(id), "%lld", (long long)job);
	json_object_del(merger->pending, id);
	for (run = merger->runs; run; run = next) {
		struct request *request = run->request;

		next = run->next;
		if (run->dry_run || run->job != job)
			continue;
		if (wait)
			worker_abort(run->worker);
		else
			worker_leave(run->worker);
		merger_run_free(run);
		if (request)
			request_answer(request, outcome_error(-EINTR,
							      "something else was asked for job "
							      "%lld: merging has stopped; the "
							      "generation is what it was",
							      (long long)job));
	}
	start_pending(merger);
}

void merger_merge(struct merger *merger, struct request *request, const struct job *job,
		  int64_t generation, bool dry_run)
{
	int err = merger_start(merger, request, job, generation, dry_run);

	if (err)
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

static void merger_on_committed(const struct job_commit *commit, struct job *job, void *arg)
{
	if (commit->incremental)
		merger_after_commit(arg, job);
}

static void merger_on_checkpoint(struct job *job, void *arg)
{
	merger_stop(arg, job->id, false);
}

static void merger_on_claimed(struct job *job, void *arg)
{
	merger_stop(arg, job->id, true);
}

static const struct job_events merger_events = {
	.checkpoint = merger_on_checkpoint,
	.claimed = merger_on_claimed,
	.committed = merger_on_committed,
};

int merger_open(struct jobs *jobs, struct flusher *flusher, struct merger **ret_merger)
{
	struct merger *merger = calloc(1, sizeof(*merger));

	if (!merger)
		return -ENOMEM;
	merger->common = jobs_common(jobs);
	merger->jobs = jobs;
	merger->flusher = flusher;
	merger->subscriber.events = &merger_events;
	merger->subscriber.arg = merger;
	job_events_subscribe(jobs, &merger->subscriber);
	merger->pending = json_object();
	*ret_merger = merger;
	return 0;
}

void merger_close(struct merger *merger)
{
	if (!merger)
		return;
	job_events_unsubscribe(merger->jobs, &merger->subscriber);
	while (merger->runs) {
		worker_abort(merger->runs->worker);
		merger_run_free(merger->runs);
	}
	json_decref(merger->pending);
	free(merger);
}
