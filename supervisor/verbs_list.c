// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests list and rm: what there is to restart from, and less of it.
 *
 * Manifests are read and images removed in workers.  The last generation of a
 * job that has not come to its own end is removed only by force: it may be all
 * that is left of the job.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/util.h"
#include "supervisor/jobs.h"
#include "supervisor/keeper.h"
#include "supervisor/listing.h"
#include "supervisor/op.h"
#include "supervisor/outcome.h"
#include "supervisor/pin.h"
#include "supervisor/worker.h"

/* ------------------------------------------------------------------ list */

struct list {
	struct request *request;
	struct worker *worker;
	json_t *jobs;		/* [{"job": …, "label": …, "generations": [n, …]}] */
};

/* In the worker: what the manifests say, or the index of them. */
static json_t *list_run(struct channel_reporter *reporter, void *arg)
{
	struct list *list = arg;
	const struct daemon *daemon = list->request->daemon;
	struct op_env env = { .key = daemon->config.key };
	struct listing listing = {
		.env = &env, .catalog = &daemon->catalog, .index = listing_index_open(daemon),
	};
	json_t *entry;
	size_t i;

	json_array_foreach(list->jobs, i, entry) {
		listing.job = json_integer_value(json_object_get(entry, "job"));
		listing.label = json_string_value(json_object_get(entry, "label"));
		json_object_set_new(entry, "generations",
				    listing_rows(&listing, json_object_get(entry, "generations")));
		json_object_del(entry, "label");
	}
	listing_index_close(daemon, listing.index);
	return outcome_ok(json_pack("{s:O}", "jobs", list->jobs));
}

static void on_no_progress(json_t *progress, void *arg)
{
}

static void on_list(json_t *outcome, void *arg)
{
	struct list *list = arg;

	request_answer(list->request, outcome);
	json_decref(list->jobs);
	free(list);
}

static const struct channel_ops list_ops = { on_no_progress, on_list };

static void add_listed(struct list *list, const struct job *job)
{
	json_t *entry = job_describe(job);
	char label[64];

	json_object_set_new(entry, "label", json_string(job_label(job, label)));
	json_object_set_new(entry, "generations",
			    catalog_generations(&list->request->daemon->catalog, job->id));
	json_array_append_new(list->jobs, entry);
}

/* From the manifests alone: the index is made anew. NULL, or an outcome. */
static json_t *drop_index(const struct request *request)
{
	_cleanup_free_ char *path = listing_index_path(&request->daemon->config);
	int err;

	if (!json_is_true(json_object_get(request->args, "rebuild")))
		return NULL;
	if (request->uid)
		return outcome_error(-EPERM, "the index is the node's: only root has it made anew");
	err = path ? catalog_index_remove(path) : -ENOMEM;
	return err ? outcome_error(err, "%s: %s", path ? path : "the index", strerror(-err)) : NULL;
}

void verb_list(struct request *request)
{
	struct worker_spec spec = { .name = "ckptd-list", .run = list_run };
	struct jobs *jobs = request->daemon->jobs;
	struct list *list = calloc(1, sizeof(*list));
	json_t *outcome = NULL;
	struct job *job;
	int err;

	if (!list) {
		request_answer(request, NULL);
		return;
	}
	list->request = request;
	list->jobs = json_array();
	spec.arg = list;
	outcome = drop_index(request);
	if (outcome) {
		/* nothing is listed */
	} else if (json_object_get(request->args, "job")) {
		job = jobs_find_for(request, &outcome);
		if (job)
			add_listed(list, job);
	} else {
		jobs_load_all(jobs);
		for (job = jobs_next(jobs, NULL); job; job = jobs_next(jobs, job)) {
			if (request->uid == 0 || request->uid == job->uid)
				add_listed(list, job);
		}
	}
	if (!outcome) {
		err = worker_start(request->daemon, &spec, &list_ops, list, &list->worker);
		if (!err)
			return;
		outcome = outcome_error(err, "no worker: %s", strerror(-err));
	}
	request_answer(request, outcome);
	json_decref(list->jobs);
	free(list);
}

/* -------------------------------------------------------------------- rm */

struct rm {
	struct request *request;
	struct job *job;
	struct worker *worker;
	json_t *generations;	/* to be removed */
	bool whole;		/* and the job with them */
};

static void rm_free(struct rm *rm)
{
	json_decref(rm->generations);
	free(rm);
}

static json_t *rm_run(struct channel_reporter *reporter, void *arg)
{
	struct rm *rm = arg;
	const struct catalog *catalog = &rm->request->daemon->catalog;
	_cleanup_fd_ int lock = -1;
	char why[512];
	size_t i;
	int err;

	err = catalog_lock(catalog, rm->job->id, &lock);
	if (err)
		return outcome_error(err, "%s: %s", rm->job->image_dir, err == -EBUSY ?
				     "generations are being removed or pinned just now; try again" :
				     strerror(-err));
	for (i = 0; i < json_array_size(rm->generations); i++) {
		int64_t n = json_integer_value(json_array_get(rm->generations, i));

		/* From now on nobody pins. */
		if (pin_has(catalog, rm->job->id, n))
			return keeper_pinned(rm->job->id, n);
		err = catalog_generation_remove(catalog, rm->job->id, n, why, sizeof(why));
		if (err)
			return outcome_error(err, "%s", why);
	}
	err = rm->whole ? catalog_job_remove(catalog, rm->job->id) : 0;
	if (err)
		return outcome_error(err, "%s cannot be removed: %s",
				     rm->job->image_dir, strerror(-err));
	return outcome_ok(json_pack("{s:I, s:O, s:b}", "job", (json_int_t)rm->job->id,
				    "removed", rm->generations, "whole", rm->whole));
}

static void on_rm(json_t *outcome, void *arg)
{
	struct rm *rm = arg;

	rm->job->busy = NULL;
	if (outcome_is_ok(outcome) && rm->whole) {
		job_unprepare(rm->job);
		jobs_forget(rm->job);
	}
	request_answer(rm->request, outcome);
	rm_free(rm);
}

static const struct channel_ops rm_ops = { on_no_progress, on_rm };

/* NULL if @generation (0: all) of the job may go. */
static json_t *may_remove(const struct job *job, json_t *all, int64_t generation,
			  bool force)
{
	bool last = json_array_size(all) == 1;
	int64_t only = json_integer_value(json_array_get(all, 0));

	if (!generation && (job_is_alive(job) || job->state == JOB_ELSEWHERE))
		return outcome_error(-EBUSY, "job %lld is %s: end it first (ckptctl kill), or name a generation",
				     (long long)job->id, job_state_name(job->state));
	if (force || job->state == JOB_ENDED)
		return NULL;
	if (generation && !(last && only == generation))
		return NULL;
	if (!generation && !json_array_size(all))
		return NULL;
	return outcome_error(-EBUSY, "job %lld is %s and could not be restarted any more; use --force if that is meant",
			     (long long)job->id, job_state_name(job->state));
}

/* Not by force, either. */
static json_t *check_pins(const struct job *job, const json_t *all, int64_t generation)
{
	const struct catalog *catalog = &jobs_daemon(job->jobs)->catalog;
	json_t *number;
	size_t i;

	json_array_foreach(all, i, number) {
		int64_t n = json_integer_value(number);

		if ((!generation || n == generation) && pin_has(catalog, job->id, n))
			return keeper_pinned(job->id, n);
	}
	return NULL;
}

static bool contains(const json_t *all, int64_t generation)
{
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		if (json_integer_value(json_array_get(all, i)) == generation)
			return true;
	}
	return false;
}

/* No number is used twice: images that were removed may live on elsewhere. */
static json_t *raise_floor(struct job *job, const json_t *removed)
{
	size_t n = json_array_size(removed);
	int64_t top = json_integer_value(json_array_get(removed, n ? n - 1 : 0));
	char why[512];
	int err;

	if (top <= json_integer_value(json_object_get(job->record, "floor")))
		return NULL;
	json_object_set_new(job->record, "floor", json_integer(top));
	err = job_save(job, why, sizeof(why));
	return err ? outcome_error(err, "%s", why) : NULL;
}

/* What is to be removed; NULL with an outcome. */
static struct rm *parse_rm(struct request *request, struct job *job, bool *ret_dry_run,
			   json_t **ret_outcome)
{
	json_t *all = catalog_generations(&request->daemon->catalog, job->id);
	json_int_t id, generation = 0;
	int force = 0, dry_run = 0;
	struct rm *rm = NULL;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I, s?b, s?b !}", "job", &id,
			   "generation", &generation, "force", &force,
			   "dry_run", &dry_run))
		*ret_outcome = outcome_error(-EINVAL, "rm: bad arguments: %s", why.text);
	else if (generation && !contains(all, generation))
		*ret_outcome = outcome_error(-ENOENT, "job %lld has no generation %lld",
					     (long long)id, (long long)generation);
	else
		*ret_outcome = may_remove(job, all, generation, force);
	if (!*ret_outcome)
		*ret_outcome = check_pins(job, all, generation);
	if (!*ret_outcome)
		rm = calloc(1, sizeof(*rm));
	if (rm) {
		rm->request = request;
		rm->job = job;
		rm->whole = !generation;
		rm->generations = generation ? json_pack("[I]", generation) :
				  json_incref(all);
		*ret_dry_run = dry_run;
	}
	json_decref(all);
	return rm;
}

void verb_rm(struct request *request)
{
	struct worker_spec spec = { .name = "ckptd-rm", .run = rm_run };
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	struct rm *rm = NULL;
	bool dry_run = false;
	int err = 0;

	if (job)
		outcome = job_check_free(job, "removal");
	if (job && !outcome)
		rm = parse_rm(request, job, &dry_run, &outcome);
	if (rm && dry_run)
		outcome = outcome_ok(json_pack("{s:I, s:O, s:b, s:b}", "job",
					       (json_int_t)job->id, "removed",
					       rm->generations, "whole", rm->whole,
					       "dry_run", 1));
	else if (rm)
		outcome = raise_floor(job, rm->generations);
	if (rm && !outcome) {
		spec.arg = rm;
		keeper_stop(request->daemon->keeper, job->id);
		err = worker_start(request->daemon, &spec, &rm_ops, rm, &rm->worker);
		if (!err) {
			job->busy = "removal";
			return;
		}
		outcome = outcome_error(err, "no worker: %s", strerror(-err));
	}
	if (rm)
		rm_free(rm);
	request_answer(request, outcome);
}
