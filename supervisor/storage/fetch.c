// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetching a generation into L1 to restart from; see fetch.h.
 *
 * Owns the choice of the generation: from the newest to the oldest, or only the one that the
 * caller names. If a generation cannot be had (fetch_generation.c), the next older one is tried,
 * unless the caller named one. "steps" of the result reports each failed attempt and each fetch.
 *
 * Invariants: nothing in L1 is removed before its replacement is in L1, whole and checked,
 * under another name. A job gets its record after its generation. A fetch that is cut off at any
 * instant leaves L1 with what it had, or more, and with temporary names that the next dump of the
 * job sweeps away.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "supervisor/storage/fetch_priv.h"
#include "supervisor/storage/fetch_record.h"
#include "supervisor/storage/inventory.h"
#include "base/outcome.h"
#include "supervisor/storage/tombstone.h"

/* --------------------------------------------------------------------- which */

static int fetch_descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/* The numbers of all known generations, newest first, each once. */
static size_t fetch_candidates(const struct fetch_attempt *r, int64_t **ret_all)
{
	json_t *in_l1 = catalog_generations(r->f->catalog, r->f->job), *number;
	json_t *of_job = inventory_of_job(r->scan, r->label);
	size_t i, n = 0, nr = json_array_size(in_l1) + json_object_size(of_job);
	int64_t *all = calloc(nr + 2, sizeof(*all));
	const char *name;
	json_t *held;

	*ret_all = all;
	if (!all) {
		json_decref(in_l1);
		return 0;
	}
	json_array_foreach(in_l1, i, number)
		all[n++] = json_integer_value(number);
	json_object_foreach(of_job, name, held)
		all[n++] = atoll(name);
	/* Other nodes may have the requested generation even if no level lists it. */
	if (r->f->home && r->f->generation)
		all[n++] = r->f->generation;
	json_decref(in_l1);
	qsort(all, n, sizeof(*all), fetch_descending);
	for (i = nr = 0; i < n; i++) {
		if (!i || all[i] != all[i - 1])
			all[nr++] = all[i];
	}
	return nr;
}

/* True if the generation is only on levels from which a user has removed it, or has tried to. */
static bool is_buried(const struct fetch_attempt *r, int64_t generation)
{
	const json_t *held = inventory_of(r->scan, r->label, generation), *images;
	const char *level;

	if (!held || catalog_has(r->f->catalog, r->f->job, generation))
		return false;
	json_object_foreach((json_t *)held, level, images) {
		if (!tombstone_has(r->f->tombstones, level, generation))
			return false;
	}
	return true;
}

/* Keep the requested generation, or all without tombstones; returns how many are left. */
static size_t fetch_choose(const struct fetch_attempt *r, int64_t *all, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++) {
		if (r->f->generation ? all[i] == r->f->generation : !is_buried(r, all[i]))
			all[n++] = all[i];
	}
	return n;
}

static json_t *fetch_failed(const struct fetch_attempt *r, int err, const char *text)
{
	json_t *outcome = outcome_error(err, "%s", text);

	json_object_set(json_object_get(outcome, "error"), "steps", r->steps);
	return outcome;
}

/* True if a level has an image of the job under @node, or @node is ours and L1 has the job. */
static bool is_of_job(const struct fetch_attempt *r, const char *node)
{
	const json_t *held, *images, *image;
	const char *number, *level;
	size_t i;

	if (!*node || (r->f->label && !strcmp(node, r->f->node)))
		return true;
	json_object_foreach(inventory_of_job(r->scan, r->label), number,
			    held) {
		json_object_foreach((json_t *)held, level, images) {
			json_array_foreach(images, i, image) {
				if (!strcmp(json_string_value(json_object_get(image, "node")),
					    node))
					return true;
			}
		}
	}
	return false;
}

/* A level that could not be asked and may have a newer generation; NULL: there is none. */
static const char *silent_level(const struct fetch_attempt *r)
{
	const json_t *text, *nodes;
	const char *level, *node;

	json_object_foreach(json_object_get(r->scan, "silent"), level, nodes) {
		json_object_foreach((json_t *)nodes, node, text) {
			if (is_of_job(r, node))
				return level;
		}
	}
	return NULL;
}

/* An unreachable level or image must not decide silently which generation is restarted. */
static json_t *not_silently(struct fetch_attempt *r, int64_t next, bool newest)
{
	const char *level = silent_level(r);
	char text[256];

	if (r->f->generation)
		return NULL;
	if (r->err && !fetch_is_lost(r->err)) {
		snprintf(text, sizeof(text),
			 "generation %lld of job %lld is there and cannot be had now: see to that, "
			 "or name an older one (%lld:%lld)",
			 (long long)r->generation, (long long)r->f->job, (long long)r->f->job,
			 (long long)next);
		return fetch_failed(r, r->err, text);
	}
	if (!level || (newest && r->known))
		return NULL;
	snprintf(text, sizeof(text),
		 "level %s could not be asked and may have a newer generation of job %lld: make it "
		 "reachable, or name the one that is meant (%lld:%lld)",
		 level, (long long)r->f->job, (long long)r->f->job, (long long)next);
	return fetch_failed(r, -EHOSTUNREACH, text);
}

static void say_errors(struct fetch_attempt *r)
{
	const json_t *text;
	const char *name;

	json_object_foreach(json_object_get(r->scan, "errors"), name, text)
		json_array_append_new(r->steps, json_sprintf("level %s could not be asked: %s",
							     name, json_string_value(text)));
}

/* @newest: the newest generation that still exists, on whatever level; 0: none. */
static json_t *fetch_unreachable(const struct fetch_attempt *r, int64_t asked, int64_t newest)
{
	char what[200];

	if (!asked && newest) {
		snprintf(what, sizeof(what),
			 "job %lld: all that is left was removed, and is on levels that could not "
			 "do that: name the one that is meant (%lld:%lld)",
			 (long long)r->f->job, (long long)r->f->job, (long long)newest);
		return fetch_failed(r, -ENOENT, what);
	}
	snprintf(what, sizeof(what),
		 asked ? "job %lld has no generation %lld"
		       : "job %lld has no checkpoint to restart from",
		 (long long)r->f->job, (long long)asked);
	return fetch_failed(r, -ENOENT, what);
}

/* True if a readable image of the generation exists, and not just its name on a level. */
static bool is_known(const struct fetch_attempt *r, int64_t generation)
{
	const json_t *held = inventory_of(r->scan, r->label, generation), *images, *image;
	const char *level;
	size_t i;

	if (catalog_has(r->f->catalog, r->f->job, generation))
		return true;
	json_object_foreach((json_t *)held, level, images) {
		json_array_foreach(images, i, image) {
			if (!json_object_get(image, "error"))
				return true;
		}
	}
	return false;
}

/* New generations get higher numbers. Only images count: anybody may make a mere name. */
static int64_t find_newest(const struct fetch_attempt *r, const int64_t *all, size_t nr)
{
	size_t i = 0;

	while (i < nr && !is_known(r, all[i]))
		i++;
	return i < nr ? all[i] : 0;
}

/* Remove the images that were copied into L1, if L1 had nothing of the generation before. */
static void fetch_drop(const struct fetch_attempt *r)
{
	struct ckpt_error error = {};

	if (r->fresh)
		catalog_generation_remove(r->f->catalog, r->f->job, r->generation, &error);
}

/*
 * A lost node may have run on, and may return with generations that the job, restarted
 * elsewhere from an older generation, never had. Such generations have high numbers, but
 * their run is older than the run of the generations below them in L1.
 */
static bool is_given_up(struct fetch_attempt *r)
{
	json_int_t run = r->f->generation || r->f->dry_run ? -1 :
			 fetch_record_run(r->f, r->key, r->generation), other = -1;
	json_t *all = catalog_generations(r->f->catalog, r->f->job);
	size_t i = json_array_size(all);
	int64_t below = 0;

	while (run >= 0 && other < 0 && i--) {
		below = json_integer_value(json_array_get(all, i));
		if (below < r->generation)
			other = fetch_record_run(r->f, r->key, below);
	}
	json_decref(all);
	if (other <= run)
		return false;
	fetch_step(r,
		   ": is of a run that was given up before generation %lld was taken; name it if "
		   "that one is meant",
		   (long long)below);
	return true;
}

static json_t *try_all(struct fetch_attempt *r)
{
	_cleanup_free_ int64_t *all = NULL;
	size_t i, nr = fetch_candidates(r, &all);
	int64_t newest = find_newest(r, all, nr);
	json_t *no, *of_run;
	int err = r->f->generation ? 0 : catalog_readable(r->f->catalog, r->f->job);
	json_int_t run = 0;
	char text[120];

	if (err)
		return fetch_failed(r, err,
				    "which generations the job has cannot be read just now");
	nr = fetch_choose(r, all, nr);
	r->known = nr && catalog_has(r->f->catalog, r->f->job, all[0]);
	for (i = 0; i < nr; i++) {
		no = not_silently(r, all[i], !i);
		if (no)
			return no;
		if (!fetch_have_generation(r, all[i]))
			continue;
		if (is_given_up(r)) {
			fetch_drop(r);
			continue;
		}
		no = r->f->dry_run ? NULL :
		     fetch_record_complete(r->f, r->key, r->label, r->generation, r->nodes, newest,
					   r->steps, &run);
		of_run = no || !r->has_run ? NULL : json_integer(r->run);
		return no ? no
			  : outcome_ok(json_pack("{s:I, s:b, s:I, s:I, s:I, s:O, s:o*}",
						 "generation", (json_int_t)all[i], "in_l1",
						 !r->f->dry_run || !r->remote, "bytes",
						 (json_int_t)r->bytes, "newest", (json_int_t)newest,
						 "run", run, "steps", r->steps, "of_run", of_run));
	}
	if (!nr)
		return fetch_unreachable(r, r->f->generation, newest);
	if (r->err && !fetch_is_lost(r->err)) {
		snprintf(text, sizeof(text),
			 "generation %lld of job %lld is there and cannot be had now",
			 (long long)r->generation, (long long)r->f->job);
		return fetch_failed(r, r->err, text);
	}
	if (r->f->generation)
		snprintf(text, sizeof(text),
			 "generation %lld of job %lld: no good one is left anywhere",
			 (long long)r->f->generation, (long long)r->f->job);
	else
		snprintf(text, sizeof(text),
			 "job %lld: of no generation a good one is left anywhere",
			 (long long)r->f->job);
	return fetch_failed(r, -EBADMSG, text);
}

/* ---------------------------------------------------------------------- job */

/* Find the job's label by its number; NULL, or an outcome. */
static json_t *find_label(struct fetch_attempt *r)
{
	json_t *jobs = json_object_get(r->scan, "jobs"), *held;
	const char *label;

	if (r->f->label) {
		snprintf(r->label, sizeof(r->label), "%s", r->f->label);
		return NULL;
	}
	if (json_object_size(jobs) > 1)
		return outcome_error(-ENOTUNIQ,
				     "%zu jobs on the levels have the number %lld: more than one "
				     "image directory was in use",
				     json_object_size(jobs), (long long)r->f->job);
	json_object_foreach(jobs, label, held)
		snprintf(r->label, sizeof(r->label), "%s", label);
	return json_object_size(jobs) ? NULL :
	       outcome_error(-ENOENT, "there is no job %lld", (long long)r->f->job);
}

/*
 * Check the job's owner by a manifest that lies readable on a level that is a directory.
 * For a partner's image the owner is known only after a fetch. Return: NULL, or an outcome.
 */
static json_t *fetch_check_owner(const struct fetch_attempt *r)
{
	const json_t *held, *image;
	json_t *outcome = NULL;
	const char *number;
	unsigned int t;
	size_t i;

	if (r->f->label || !r->f->uid)
		return NULL;
	json_object_foreach(inventory_of_job(r->scan, r->label), number,
			    held) {
		for (t = 0; t < r->f->levels->nr && !outcome; t++) {
			const struct level_config *conf = &r->f->levels->conf[t];

			json_array_foreach(json_object_get(held, conf->name), i, image) {
				if (!outcome && level_config_is_dir(conf) &&
				    !json_object_get(image, "error"))
					outcome = fetch_record_owner(r->f, r->key,
								     level_config_dir(conf), image);
			}
		}
	}
	return outcome;
}

/*
 * No claim protects a job that L1 does not know, so a lock admits one fetch at a time.
 * NULL, or an outcome.
 */
static json_t *begin_unknown(const struct fetch *f, int *ret_lock, bool *ret_made)
{
	json_t *outcome = fetch_record_begin(f, ret_made);
	int err = outcome ? 0 : catalog_lock(f->catalog, f->job, ret_lock);

	if (err)
		outcome = outcome_error(err, "job %lld: %s", (long long)f->job, err == -EBUSY ?
					"it is being fetched just now; try again" : strerror(-err));
	return outcome;
}

json_t *fetch_run(const struct fetch *f)
{
	struct inventory_scope scope = {
		.levels = f->levels,
		.node = f->node,
		.label = f->label,
		.job = f->job,
		.hosts = f->hosts,
		.patient = true,
		.state_dir = f->state_dir,
	};
	struct fetch_attempt r = { .f = f, .steps = json_array() };
	struct ckpt_error error = {};
	_cleanup_fd_ int lock = -1;
	json_t *outcome;
	bool made = false;
	int err;

	err = image_key_load(f->catalog->key, &r.key, &error);
	if (err) {
		json_decref(r.steps);
		return outcome_error(err, "%s", error.text);
	}
	/* An image that cannot be read without the secret reports that itself. */
	if (f->catalog->secret)
		image_key_secret(r.key, f->catalog->secret, NULL);
	scope.key = r.key;
	r.scan = inventory_scan(&scope);
	say_errors(&r);
	outcome = find_label(&r);
	if (!outcome)
		outcome = fetch_check_owner(&r);
	if (!outcome && !f->label && !f->dry_run)
		outcome = begin_unknown(f, &lock, &made);
	if (!outcome)
		outcome = try_all(&r);
	/* The caller may not have this job: remove from L1 all that this fetch has added. */
	if (lock >= 0 && outcome_errno(outcome) == -EPERM) {
		fetch_drop(&r);
		if (made)
			catalog_job_remove(f->catalog, f->job);
	}
	json_decref(r.scan);
	json_decref(r.steps);
	json_decref(r.nodes);
	image_key_destroy(r.key);
	return outcome;
}
