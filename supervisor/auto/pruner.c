// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pruner: removal of generations by a rule; see pruner.h.
 *
 * Owns the workers that prune. A worker knows jobs by number and label: a job may be forgotten
 * while its generations are removed. The daemon lists the generations while no checkpoint is
 * being decided, and hands the list to the worker: a generation that is published and then
 * abandoned must never take the place of one that was removed. A worker may be killed at any
 * instant (prune.h), and pruner_stop() does so.
 */
#include "supervisor/auto/pruner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/job/coord_record.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/catalog/listing.h"
#include "supervisor/iotrace/device_judge.h"
#include "base/outcome.h"
#include "supervisor/storage/prune.h"
#include "supervisor/control/worker.h"

struct pruner_run {
	struct pruner_run *next;
	struct pruner *pruner;
	struct request *request;	/* NULL: after a commit */
	struct worker *worker;
	json_t *targets;
	struct retention_rule rule;
	bool dry_run;
	bool again;			/* another commit came while the worker ran */
};

struct pruner {
	struct common *common;
	struct jobs *jobs;
	struct pruner_run *runs;
	struct job_events_subscriber subscriber;
};

static void pruner_after_commit(struct pruner *pruner, const struct job *job);

/* ---------------------------------------------------------- in the worker */

static json_t *prune_target(const struct pruner_run *run, const struct listing *listing,
			    const struct level_configs *levels, const json_t *target)
{
	struct prune prune = {
		.listing = *listing, .rule = run->rule, .dry_run = run->dry_run,
		.node = run->pruner->common->config.node,
		.state_dir = run->pruner->common->config.state_dir,
		.generations = json_object_get(target, "generations"),
		.undecided = json_integer_value(json_object_get(target, "undecided")),
		.levels = levels,
		.tombstones = json_object_get(target, "unwanted"),
	};
	json_t *entry;

	if (json_object_get(target, "skipped")) {
		entry = json_copy((json_t *)target);
	} else {
		prune.listing.job = json_integer_value(json_object_get(target, "job"));
		prune.listing.label = json_string_value(json_object_get(target, "label"));
		entry = prune_job(&prune);
	}
	json_object_set(entry, "name", json_object_get(target, "name"));
	return entry;
}

static json_t *prune_run(struct channel_reporter *reporter, void *arg)
{
	const struct pruner_run *run = arg;
	const struct common *common = run->pruner->common;
	struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	struct listing listing = {
		.env = &env, .catalog = &common->catalog,
		.index = listing_index_open(common->config.state_dir, &common->catalog,
					    &common->log),
	};
	struct level_configs levels = common->config.levels;
	json_t *jobs = json_array(), *target;
	json_int_t freed = 0;
	size_t i;

	device_report_avoid(common, &levels);
	json_array_foreach(run->targets, i, target) {
		json_t *entry = prune_target(run, &listing, &levels, target);

		freed += json_integer_value(json_object_get(entry, "freed"));
		json_array_append_new(jobs, entry);
	}
	listing_index_close(&common->log, listing.index);
	return outcome_ok(json_pack("{s:b, s:o, s:I}", "dry_run", run->dry_run, "jobs", jobs,
				    "freed", freed));
}

/* ---------------------------------------------------------- in the daemon */

static void pruner_run_free(struct pruner_run *run)
{
	struct pruner_run **at = &run->pruner->runs;

	while (*at && *at != run)
		at = &(*at)->next;
	if (*at)
		*at = run->next;
	json_decref(run->targets);
	free(run);
}

static void log_missed(const struct log *log, json_int_t job, const json_t *row)
{
	const json_t *level;
	size_t i;

	json_array_foreach(json_object_get(row, "missed"), i, level)
		log_warning(log,
			    "job %lld: level %s never got generation %lld, which is gone now: "
			    "copies take longer than the interval and retain_* allow for",
			    (long long)job, json_string_value(level),
			    (long long)json_integer_value(json_object_get(row, "generation")));
}

static void log_entry(const struct log *log, const json_t *entry)
{
	json_int_t job = json_integer_value(json_object_get(entry, "job"));
	json_t *row;
	size_t i;

	if (json_object_get(entry, "skipped"))
		log_warning(log, "job %lld: nothing is pruned: %s", (long long)job,
			    json_string_value(json_object_get(entry, "skipped")));
	json_array_foreach(json_object_get(entry, "removed"), i, row) {
		log_info(log, "job %lld: generation %lld removed: %s", (long long)job,
			 (long long)json_integer_value(json_object_get(row, "generation")),
			 json_string_value(json_object_get(row, "why")));
		log_missed(log, job, row);
	}
	json_array_foreach(json_object_get(entry, "failed"), i, row)
		log_warning(log, "job %lld: generation %lld cannot be removed: %s", (long long)job,
			    (long long)json_integer_value(json_object_get(row, "generation")),
			    json_string_value(json_object_get(row, "text")));
}

static void log_outcome(const struct log *log, const struct pruner_run *run, const json_t *outcome)
{
	json_t *entry;
	size_t i;

	if (!outcome_is_ok(outcome))
		log_warning(log, "not pruned: %s",
			    json_string_value(json_object_get(json_object_get(outcome, "error"),
							      "text")));
	if (run->dry_run)
		return;
	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "jobs"), i, entry)
		log_entry(log, entry);
}

/* Snapshots of generations that are gone now are of no use. */
static void pruner_check_l0(const struct pruner_run *run)
{
	const json_t *target;
	size_t i;

	json_array_foreach(run->targets, i, target) {
		struct job *job = jobs_lookup(run->pruner->jobs,
					      json_integer_value(json_object_get(target, "job")));

		if (job)
			job_l0_check(job->l0);
	}
}

static void pruner_on_progress(json_t *progress, void *arg)
{
}

static void pruner_on_outcome(json_t *outcome, void *arg)
{
	struct pruner_run *run = arg;
	struct pruner *pruner = run->pruner;
	struct request *request = run->request;
	const json_t *first = json_array_get(run->targets, 0);
	json_t *no = NULL;
	struct job *job = run->again
				  ? jobs_reconcile(pruner->jobs,
						   json_integer_value(json_object_get(first,
										      "job")),
						   &no)
				  : NULL;

	json_decref(no);
	log_outcome(&pruner->common->log, run, outcome);
	pruner_check_l0(run);
	pruner_run_free(run);
	if (request)
		request_answer(request, outcome);
	else
		json_decref(outcome);
	if (job)
		pruner_after_commit(pruner, job);
}

static const struct channel_ops ops = { pruner_on_progress, pruner_on_outcome };

static const struct worker_kind prune_work = {
	.name = "ckptd-prune",
	.run = prune_run,
	.killed = "what it had removed by then is gone: ckptctl list shows what is left",
};

/* @targets is taken over. */
static int pruner_start(struct pruner *pruner, struct request *request, json_t *targets,
			const struct retention_rule *rule, bool dry_run)
{
	struct worker_spec spec = { .kind = &prune_work };
	struct pruner_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run) {
		json_decref(targets);
		return -ENOMEM;
	}
	*run = (struct pruner_run) {
		.next = pruner->runs, .pruner = pruner, .request = request,
		.targets = targets, .rule = *rule, .dry_run = dry_run,
	};
	pruner->runs = run;
	spec.arg = run;
	err = worker_start(&pruner->common->workers, &spec, &ops, run, &run->worker);
	if (err)
		pruner_run_free(run);
	return err;
}

static bool is_about(const struct pruner_run *run, int64_t job)
{
	json_t *target;
	size_t i;

	json_array_foreach(run->targets, i, target) {
		if (json_integer_value(json_object_get(target, "job")) == job)
			return true;
	}
	return false;
}

/* Stop removing generations of @job. A waiting request is answered with -EINTR. */
static void pruner_stop(struct pruner *pruner, int64_t job)
{
	struct pruner_run *run = pruner->runs, *next;

	for (; run; run = next) {
		struct request *request = run->request;

		next = run->next;
		if (run->dry_run || !is_about(run, job))
			continue;
		worker_abort(run->worker);
		pruner_run_free(run);
		if (request)
			request_answer(request, outcome_error(-EINTR,
							      "something else was asked for job "
							      "%lld: pruning has stopped; what was "
							      "not removed is whole",
							      (long long)job));
	}
}

/*
 * The generation that is published, as far as this node knows, but not committed; 0: none. If the
 * coordinator's record cannot be read, the newest generation counts as undecided.
 */
static int64_t pruner_undecided(const struct job *job)
{
	struct coord_record record;

	if (coord_record_read(job->state_dir, &record))
		return catalog_last(&jobs_common(job->jobs)->catalog, job->id);
	if (!record.prepared.attempt ||
	    record.committed.generation == record.prepared.generation)
		return 0;
	return (int64_t)record.prepared.generation;
}

json_t *pruner_check(const struct job *job)
{
	const char *node = job_record_node(&job->record);

	if (job->state == JOB_ELSEWHERE)
		return outcome_error(-EBUSY, "job %lld was last on node %s: ask there",
				     (long long)job->id, node ? node : "?");
	return job_check_free(job, "removal");
}

void pruner_add(const struct job *job, json_t *targets)
{
	const struct common *common = jobs_common(job->jobs);
	json_t *target, *no = pruner_check(job);
	char label[64];

	target = json_pack("{s:I, s:s, s:s, s:o, s:I, s:O*}", "job", (json_int_t)job->id,
			   "name", job->name, "label", job_label(job, label), "generations",
			   catalog_generations(&common->catalog, job->id), "undecided",
			   (json_int_t)pruner_undecided(job), "unwanted",
			   job->record.tombstones);
	if (no)
		json_object_set(target, "skipped",
				json_object_get(json_object_get(no, "error"), "text"));
	json_decref(no);
	json_array_append_new(targets, target);
}

void pruner_prune(struct pruner *pruner, struct request *request, json_t *targets,
		  const struct retention_rule *rule, bool dry_run)
{
	int err = pruner_start(pruner, request, targets, rule, dry_run);

	if (err)
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}

static void pruner_after_commit(struct pruner *pruner, const struct job *job)
{
	struct retention_rule rule = retention_of_owner(&pruner->common->config.retain,
							job->record.keep);
	struct pruner_run *run;
	json_t *targets;
	int err;

	if (!retention_is_rule(&rule))
		return;
	for (run = pruner->runs; run; run = run->next) {
		if (!run->request && is_about(run, job->id)) {
			run->again = true;
			return;
		}
	}
	/* A busy job is pruned after its next commit. */
	if (job->busy)
		return;
	targets = json_array();
	pruner_add(job, targets);
	err = pruner_start(pruner, NULL, targets, &rule, false);
	if (err)
		log_warning(&pruner->common->log, "job %lld: not pruned: %s", (long long)job->id,
			    strerror(-err));
}

/* The home prunes for all nodes of a job, unless each node has an image directory of its own. */
static void pruner_on_committed(const struct job_commit *commit, struct job *job, void *arg)
{
	if (!job->node_index || rank_record_is_apart(job->record.ranks))
		pruner_after_commit(arg, job);
}

static void pruner_on_claimed(struct job *job, void *arg)
{
	pruner_stop(arg, job->id);
}

static const struct job_events pruner_events = {
	.claimed = pruner_on_claimed,
	.committed = pruner_on_committed,
};

int pruner_open(struct jobs *jobs, struct pruner **ret_pruner)
{
	struct pruner *pruner = calloc(1, sizeof(*pruner));

	if (!pruner)
		return -ENOMEM;
	pruner->common = jobs_common(jobs);
	pruner->jobs = jobs;
	pruner->subscriber.events = &pruner_events;
	pruner->subscriber.arg = pruner;
	job_events_subscribe(jobs, &pruner->subscriber);
	*ret_pruner = pruner;
	return 0;
}

void pruner_close(struct pruner *pruner)
{
	if (!pruner)
		return;
	job_events_unsubscribe(pruner->jobs, &pruner->subscriber);
	while (pruner->runs) {
		worker_abort(pruner->runs->worker);
		pruner_run_free(pruner->runs);
	}
	free(pruner);
}

json_t *pruner_pinned(int64_t job, int64_t generation)
{
	return outcome_error(-EPERM,
			     "generation %lld of job %lld is pinned: ckptctl unpin %lld:%lld first",
			     (long long)generation, (long long)job, (long long)job,
			     (long long)generation);
}
