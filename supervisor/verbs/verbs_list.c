// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests list and rm: list the generations that a job can be restarted from, or remove
 * generations.
 *
 * Workers read the manifests and remove the images.  The last generation of a job that was not
 * seen to end by itself is removed only by force: it may be all that is left of the job.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/auto/pruner.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/key_of_job.h"
#include "supervisor/auto/services.h"
#include "supervisor/storage/levels_remove.h"
#include "supervisor/storage/levels_report.h"
#include "supervisor/catalog/listing.h"
#include "supervisor/catalog/window.h"
#include "engine/op/op.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/auto/flusher.h"
#include "supervisor/job/tombstone_note.h"
#include "supervisor/control/worker.h"

/* ------------------------------------------------------------------ list */

struct list {
	struct request *request;
	struct worker *worker;
	json_t *jobs;		/* [{"job": …, "label": …, "generations": [n, …]}] */
	bool all;		/* of all jobs, not of one */
	struct window window;
};

static void add_listed(const struct job *job, void *arg)
{
	struct list *list = arg;
	json_t *entry, *generations;
	char label[64];
	size_t all;

	entry = job_describe(job);
	generations = catalog_generations_in(&list->request->common->catalog, job->id,
					     &list->window, &all);
	json_object_set_new(entry, "label", json_string(job_label(job, label)));
	if (list->window.before || list->window.last)
		json_object_set_new(entry, "nr_generations",
				    json_integer((json_int_t)all));
	json_object_set_new(entry, "generations", generations);
	json_array_append_new(list->jobs, entry);
}

/* In the worker: list the generations as their manifests, or the index of these, have them. */
static json_t *list_run(struct channel_reporter *reporter, void *arg)
{
	struct list *list = arg;
	struct common *common = list->request->common;
	struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	struct listing listing = {
		.env = &env, .catalog = &common->catalog,
		.in_part = list->window.before || list->window.last,
	};
	const struct jobs_wanted wanted = jobs_wanted_of(list->request->uid);
	const json_t *unreadable;
	json_t *entry, *result;
	size_t i;

	if (list->all)
		jobs_read_all(list->request->jobs, &wanted, add_listed, list);
	listing.index = listing_index_open(common->config.state_dir, &common->catalog,
					   &common->log);
	json_array_foreach(list->jobs, i, entry) {
		listing.job = json_integer_value(json_object_get(entry, "job"));
		listing.label = json_string_value(json_object_get(entry, "label"));
		json_object_set_new(entry, "generations",
				    listing_rows(&listing, json_object_get(entry, "generations")));
	}
	listing_index_close(&common->log, listing.index);
	levels_report_list(common, list->jobs, json_object_get(list->request->args, "job"),
			   &list->window);
	json_array_foreach(list->jobs, i, entry)
		json_object_del(entry, "label");
	unreadable = jobs_unreadable(list->request->jobs);
	result = json_pack("{s:O}", "jobs", list->jobs);
	if (list->all && json_array_size(unreadable))
		json_object_set(result, "unreadable", (json_t *)unreadable);
	return outcome_ok(result);
}

static void verb_list_on_no_progress(json_t *progress, void *arg)
{
}

static void on_list(json_t *outcome, void *arg)
{
	struct list *list = arg;

	request_answer(list->request, outcome);
	json_decref(list->jobs);
	free(list);
}

static const struct channel_ops list_ops = { verb_list_on_no_progress, on_list };

/* Check all arguments; with "rebuild" drop the index, to be made anew. NULL, or an outcome. */
static json_t *drop_index(const struct request *request, struct window *ret_window)
{
	_cleanup_free_ char *path = listing_index_path(request->common->config.state_dir);
	int err, rebuild = 0;
	json_int_t id, before, last;
	json_t *outcome;

	if (json_unpack(request->args, "{s?I, s?b, s?I, s?I !}", "job", &id, "rebuild", &rebuild,
			"before", &before, "last", &last))
		return outcome_usage("list: bad arguments");
	outcome = window_take(request->args, ret_window);
	if (outcome || !rebuild)
		return outcome;
	if (request->uid)
		return outcome_error(-EPERM, "the index is the node's: only root has it made anew");
	err = path ? catalog_index_remove(path) : -ENOMEM;
	return err ? outcome_error(err, "%s: %s", path ? path : "the index", strerror(-err)) : NULL;
}

static const struct worker_kind list_work = {
	.name = "ckptd-list",
	.run = list_run,
};

void verb_list(struct request *request)
{
	struct worker_spec spec = { .kind = &list_work };
	struct list *list = calloc(1, sizeof(*list));
	json_t *outcome = NULL;
	struct job *draft = NULL;
	const struct job *job;
	int err;

	if (!list) {
		request_answer(request, NULL);
		return;
	}
	list->request = request;
	list->jobs = json_array();
	spec.arg = list;
	outcome = drop_index(request, &list->window);
	if (outcome) {
		/* nothing is listed */
	} else if (json_object_get(request->args, "job")) {
		job = jobs_read_for(request, &draft, &outcome);
		if (job)
			add_listed(job, list);
		job_draft_free(draft);
	} else {
		list->all = true;
	}
	if (!outcome) {
		err = jobs_worker_start(request->jobs, &spec, &list_ops, list,
				   &list->worker);
		if (!err) {
			request_on_abandon(request, worker_on_abandon, list->worker);
			return;
		}
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
	bool whole;		/* remove the job, too */
	bool force;
	bool in_l1;		/* one generation was named, and L1 has it */
	char label[64];
	char level[LEVEL_CONFIG_NAME_MAX + 1];	/* remove from this level only; "": from all */
	struct tombstone_note note;
};

static bool rm_is_of_l1(const struct rm *rm)
{
	return !rm->level[0] || !strcmp(rm->level, LEVEL_CONFIG_L1);
}

static void rm_free(struct rm *rm)
{
	json_decref(rm->generations);
	tombstone_note_done(&rm->note);
	free(rm);
}

static json_t *check_own(const struct rm *rm)
{
	const struct common *common = rm->request->common;
	const struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	const struct listing listing = {
		.env = &env, .catalog = &common->catalog, .job = rm->job->id, .label = rm->label,
	};

	return listing_check_own(&listing, rm->generations, rm->force);
}

/* NULL, or an outcome. */
static json_t *rm_from_l1(const struct rm *rm)
{
	const struct catalog *catalog = &rm->request->common->catalog;
	_cleanup_fd_ int lock = -1;
	json_t *outcome = check_own(rm);
	char holder[80];
	struct ckpt_error error = {};
	size_t i;
	int err;

	if (outcome)
		return outcome;
	err = catalog_lock(catalog, rm->job->id, &lock);
	if (err)
		return outcome_error(err, "%s: %s", rm->job->image_dir, err == -EBUSY ?
				     "generations are being removed or pinned just now; try again" :
				     strerror(-err));
	if (!rm->force && catalog_claimed(catalog, rm->job->id, holder, sizeof(holder)) &&
	    strcmp(holder, rm->request->common->config.node))
		return outcome_error(-EBUSY,
				     "job %lld is being restarted on node %s; if that node is off, "
				     "use --force",
				     (long long)rm->job->id, holder);
	for (i = 0; i < json_array_size(rm->generations); i++) {
		int64_t n = json_integer_value(json_array_get(rm->generations, i));

		/* The catalog lock is held: nobody can pin the generation from here on. */
		if (pin_has(catalog, rm->job->id, n))
			return pruner_pinned(rm->job->id, n);
		err = catalog_generation_remove(catalog, rm->job->id, n, &error);
		if (err)
			return outcome_error(err, "%s", error.text);
	}
	return NULL;
}

/* Call after the removal from L1, so that nobody flushes a generation again in the meantime. */
static json_t *rm_from_levels(const struct rm *rm, json_t **ret_levels)
{
	const struct levels_removal removal = {
		.common = rm->request->common, .job = rm->job->id, .label = rm->label,
		.generations = rm->whole ? NULL : rm->generations,
		.level = rm->level[0] ? rm->level : NULL, .force = rm->force,
		.ended = rm->job->state == JOB_ENDED,
	};
	json_t *outcome;

	*ret_levels = NULL;
	if (!rm->request->common->config.levels.nr || !strcmp(rm->level, LEVEL_CONFIG_L1))
		return NULL;
	outcome = levels_remove(&removal);
	if (!outcome_is_ok(outcome))
		return outcome;
	*ret_levels = json_incref(json_object_get(outcome, "result"));
	json_decref(outcome);
	return NULL;
}

/* The number of images removed, summed over all levels. */
static json_int_t count_removed(const json_t *levels)
{
	json_t *n, *counts = json_object_get(levels, "levels");
	json_int_t sum = 0;
	const char *name;

	json_object_foreach(counts, name, n)
		sum += json_integer_value(n);
	return sum;
}

/* Refuse now: else a foreign file would be found only when all other files are gone. */
static json_t *check_foreign(const struct rm *rm)
{
	char name[NAME_MAX + 1];

	if (!rm->whole ||
	    !catalog_job_foreign(&rm->request->common->catalog, rm->job->id, name, sizeof(name)))
		return NULL;
	return outcome_error(-ENOTEMPTY,
			     "%s/%s is none of our files: nothing was removed; move it away, or "
			     "remove it, first",
			     rm->job->image_dir, name);
}

static json_t *rm_run(struct channel_reporter *reporter, void *arg)
{
	const struct rm *rm = arg;
	const struct catalog *catalog = &rm->request->common->catalog;
	json_t *outcome = check_foreign(rm), *levels = NULL, *result;
	int err;

	if (!outcome && rm_is_of_l1(rm))
		outcome = rm_from_l1(rm);
	if (!outcome)
		outcome = rm_from_levels(rm, &levels);
	if (!outcome && !rm->whole && !rm->in_l1 && !count_removed(levels))
		outcome = outcome_error(-ENOENT, "job %lld has no generation %lld",
					(long long)rm->job->id,
					(long long)json_integer_value(
						json_array_get(rm->generations, 0)));
	if (outcome) {
		json_decref(levels);
		return outcome;
	}
	err = rm->whole ? catalog_job_remove(catalog, rm->job->id) : 0;
	if (err)
		return outcome_error(err, "%s cannot be removed: %s",
				     rm->job->image_dir, strerror(-err));
	result = json_pack("{s:I, s:O, s:b}", "job", (json_int_t)rm->job->id, "removed",
			   rm->generations, "whole", rm->whole);
	json_object_update(result, levels);
	if (rm->level[0])
		json_object_set_new(result, "level", json_string(rm->level));
	json_decref(levels);
	return outcome_ok(result);
}

/* If only levels had the generation, its removal shows that its number was used: note that. */
static void verb_list_note_number(struct rm *rm, const json_t *outcome)
{
	struct ckpt_error error = {};

	if (rm->whole || !count_removed(json_object_get(outcome, "result")))
		return;
	if (job_raise_floor(rm->job, json_integer_value(json_array_get(rm->generations, 0)),
			    &error))
		log_error(&rm->request->common->log, "%s", error.text);
}

static void on_rm(json_t *outcome, void *arg)
{
	struct rm *rm = arg;
	const struct parts_forget forget = {
		.generations = rm->generations, .level = rm->level[0] ? rm->level : NULL,
		.whole = rm->whole, .force = rm->force,
	};

	rm->job->busy = NULL;
	verb_list_note_number(rm, outcome);
	tombstone_note_end(&rm->note, rm->job, outcome);
	job_l0_check(rm->job->l0);
	flusher_changed(rm->request->services->flusher, rm->label);
	flusher_release(rm->request->services->flusher);
	if (outcome_is_ok(outcome) && !rm->request->common->config.image_dir_shared)
		parts_forget(rm->job, &forget);
	if (outcome_is_ok(outcome) && rm->whole) {
		key_of_job_remove(rm->request->common, rm->job->id);
		job_unprepare(rm->job);
		jobs_forget(rm->job);
	}
	request_answer(rm->request, outcome);
	rm_free(rm);
}

static const struct channel_ops rm_ops = { verb_list_on_no_progress, on_rm };

static bool verb_list_contains(const json_t *all, int64_t generation)
{
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		if (json_integer_value(json_array_get(all, i)) == generation)
			return true;
	}
	return false;
}

/* Has the job another undamaged generation than @than to restart from? */
static bool has_other(const struct job *job, const json_t *all, int64_t than)
{
	const struct common *common = jobs_common(job->jobs);
	const struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	size_t i = json_array_size(all);
	char label[64];
	const struct listing listing = {
		.env = &env, .catalog = &common->catalog, .job = job->id,
		.label = job_label(job, label),
	};
	bool good = false;

	while (i-- && !good) {
		int64_t n = json_integer_value(json_array_get(all, i));
		json_t *row = n == than ? NULL : listing_row_read(&listing, n);

		good = row && !json_object_get(row, "error");
		json_decref(row);
	}
	return good;
}

/* NULL if @generation (0: all) of the job may go. */
static json_t *may_remove(const struct job *job, json_t *all, int64_t generation,
			  bool force)
{
	if (!generation && (job_is_alive(job) || job->state == JOB_ELSEWHERE))
		return outcome_error(-EBUSY,
				     "job %lld is %s: end it first (ckptctl kill), or name a "
				     "generation",
				     (long long)job->id, job_state_name(job->state));
	if (force || job->state == JOB_ENDED)
		return NULL;
	if (generation && (!verb_list_contains(all, generation) || has_other(job, all, generation)))
		return NULL;
	if (!generation && !json_array_size(all))
		return NULL;
	return outcome_error(-EBUSY,
			     "job %lld is %s and could not be restarted any more; use --force if "
			     "that is meant",
			     (long long)job->id, job_state_name(job->state));
}

/*
 * Refuse to remove a pinned generation, also with --force, and also one that only a level still
 * has.
 */
static json_t *verb_list_check_pins(const struct job *job, const json_t *all, int64_t generation)
{
	const struct common *common = jobs_common(job->jobs);
	json_t *pins, *number, *outcome = NULL;
	size_t i;

	if (generation)
		return pin_has(&common->catalog, job->id, generation) ?
		       pruner_pinned(job->id, generation) : NULL;
	pins = pin_list(&common->catalog, job->id);
	json_array_foreach(pins, i, number) {
		int64_t n = json_integer_value(number);

		if (!outcome && (common->config.levels.nr || verb_list_contains(all, n)))
			outcome = pruner_pinned(job->id, n);
	}
	json_decref(pins);
	return outcome;
}

/*
 * Refuse if another node may have the job in memory: that node would go on with its own record,
 * and give out generation numbers again.
 */
static json_t *check_here(const struct job *job, bool force)
{
	const char *node = job_record_node(&job->record);

	if (job->state != JOB_ELSEWHERE || force)
		return NULL;
	return outcome_error(-EBUSY,
			     "job %lld was last on node %s: ask there, or, if that is off, use "
			     "--force",
			     (long long)job->id, node ? node : "?");
}

/* Never use a generation number twice: removed images may live on elsewhere. */
static json_t *raise_floor(const struct rm *rm)
{
	size_t n = json_array_size(rm->generations);
	int64_t top = json_integer_value(json_array_get(rm->generations, n ? n - 1 : 0));
	struct ckpt_error error = {};
	int err;

	/*
	 * A generation that L1 lacks may not exist at all. verb_list_note_number() raises the
	 * floor once the levels have been asked.
	 */
	if (!rm->whole && !rm->in_l1)
		return NULL;
	err = job_raise_floor(rm->job, top, &error);
	return err ? outcome_error(err, "%s", error.text) : NULL;
}

/* Note the removal as a tombstone before anything is removed. NULL or an outcome. */
static json_t *tombstone_write(struct rm *rm)
{
	struct ckpt_error error = {};
	int err;

	rm->note = (struct tombstone_note) {
		.level = rm->level, .generations = rm->generations, .whole = rm->whole,
	};
	err = tombstone_note_make(&rm->note, rm->job, &error);
	return err ? outcome_error(err, "%s", error.text) : NULL;
}

/* Parse and check the request; NULL with an outcome, or if out of memory. */
static struct rm *parse_rm(struct request *request, struct job *job, bool *ret_dry_run,
			   json_t **ret_outcome)
{
	json_t *all = catalog_generations(&request->common->catalog, job->id);
	json_int_t id, generation = 0;
	const struct level_configs *levels = &request->common->config.levels;
	int force = 0, dry_run = 0, err = catalog_readable(&request->common->catalog, job->id);
	const char *level = NULL;
	struct rm *rm = NULL;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I, s?b, s?b, s?s !}", "job", &id,
			   "generation", &generation, "force", &force,
			   "dry_run", &dry_run, "level", &level))
		*ret_outcome = outcome_usage("rm: bad arguments: %s", why.text);
	else if (level && (!generation || (strcmp(level, LEVEL_CONFIG_L1) &&
					   level_configs_find(levels, level) < 0)))
		*ret_outcome = outcome_error(-EINVAL, generation ? "there is no level %s" :
					     "from level %s: which generation?", level);
	else if (err && !force)
		*ret_outcome = outcome_error(err,
					     "which generations job %lld has cannot be read just "
					     "now: %s",
					     (long long)id, strerror(-err));
	/* Other levels, if any, may still have the generation; the worker will ask them. */
	else if (generation && !verb_list_contains(all, generation) && !levels->nr)
		*ret_outcome = outcome_error(-ENOENT, "job %lld has no generation %lld",
					     (long long)id, (long long)generation);
	else
		*ret_outcome = level && strcmp(level, LEVEL_CONFIG_L1) ? NULL :
			       may_remove(job, all, generation, force);
	if (!*ret_outcome)
		*ret_outcome = check_here(job, force);
	if (!*ret_outcome)
		*ret_outcome = verb_list_check_pins(job, all, generation);
	if (!*ret_outcome)
		rm = calloc(1, sizeof(*rm));
	if (rm) {
		rm->request = request;
		rm->job = job;
		rm->whole = !generation;
		rm->force = force;
		rm->in_l1 = generation && verb_list_contains(all, generation);
		job_label(job, rm->label);
		snprintf(rm->level, sizeof(rm->level), "%s", level ? level : "");
		rm->generations = generation ? json_pack("[I]", generation) :
				  json_incref(all);
		*ret_dry_run = dry_run;
	}
	json_decref(all);
	return rm;
}

static const struct worker_kind rm_work = {
	.name = "ckptd-rm",
	.run = rm_run,
	.killed = "what it had removed by then is gone: ckptctl list shows what is left, "
		  "and removing it again is harmless",
};

/* The job's flushes have stopped: start the worker. */
static void rm_start(void *arg)
{
	struct rm *rm = arg;
	const struct worker_spec spec = { .kind = &rm_work, .arg = rm };
	int err = worker_start(&rm->request->common->workers, &spec, &rm_ops, rm, &rm->worker);

	if (err)
		on_rm(outcome_error(err, "no worker: %s", strerror(-err)), rm);
}

void verb_rm(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	struct rm *rm = NULL;
	bool dry_run = false;

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
		outcome = rm_is_of_l1(rm) ? raise_floor(rm) : NULL;
	if (rm && !dry_run && !outcome)
		outcome = tombstone_write(rm);
	if (rm && !outcome) {
		job_events_claimed(job);
		job->busy = "removal";
		if (flusher_hold(request->services->flusher, rm_start, rm))
			rm_start(rm);
		return;
	}
	if (rm) {
		tombstone_note_take_back(&rm->note, job);
		rm_free(rm);
	}
	request_answer(request, outcome);
}
