// SPDX-License-Identifier: GPL-2.0-only
/*
 * Having a generation in L1 to restart from; see fetch.h.
 *
 * Order: the newest generation (or that which is asked for); of it each image from L1, then from the
 * levels in their order; if one image is nowhere, the generation before, unless one was asked
 * for.  Each step that went wrong, and each fetch, is said.
 *
 * Invariants: nothing in L1 is removed before what replaces it is there, whole and checked, under
 * another name; a generation of several nodes becomes one (parts.json) after its last image, and a
 * job gets its record after its generation.  Cut off at any instant, L1 has what it had, or more,
 * and names that the next dump of the job sweeps away.
 */
#include "supervisor/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/key.h"
#include "image/reader.h"
#include "image/util.h"
#include "supervisor/fetch_record.h"
#include "supervisor/holdings.h"
#include "supervisor/outcome.h"
#include "supervisor/tier_group.h"
#include "supervisor/unwanted.h"

struct run {
	const struct fetch *f;
	struct image_key *key;
	json_t *scan;
	char label[64];
	json_t *steps;
	uint64_t bytes;
	bool remote;		/* something is not in L1, or was not */
	bool all;		/* every image is wanted here, whatever was asked for */
	bool known;		/* L1 lists the newest that there is */
	/* of the generation that is tried */
	int64_t generation;
	json_t *nodes;		/* of its parts; NULL: one image, or not known yet */
	bool parted;
	int err;		/* why it could not be had: the reason that says most */
};

/* Then it is not to be had; any other reason is one that somebody can do something about. */
static bool is_lost(int err)
{
	return err == -EBADMSG || err == -ENOENT;
}

/* Or has it only to be somewhere? */
static bool is_wanted(const struct run *r, int part)
{
	const json_t *number;
	size_t i;

	if (!r->f->parts || r->all || part < 0)
		return true;
	json_array_foreach(r->f->parts, i, number) {
		if (json_integer_value(number) == part)
			return true;
	}
	return false;
}

static void note_failure(struct run *r, int err)
{
	if (!r->err || is_lost(r->err))
		r->err = err;
}

static void __attribute__((format(printf, 2, 3))) step(struct run *r, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_array_append_new(r->steps, json_sprintf("generation %lld%s",
						     (long long)r->generation, text));
}

static char *place_of(const struct run *r, int part)
{
	return part < 0 ? catalog_image_dir(r->f->catalog, r->f->job, r->generation) :
	       catalog_part_dir(r->f->catalog, r->f->job, r->generation, (unsigned int)part);
}

/* ", image of node n1" */
static const char *of_part(const struct run *r, int part, char *buf, size_t size)
{
	const char *node = json_string_value(json_array_get(r->nodes, (size_t)(part < 0 ? 0 : part)));

	buf[0] = '\0';
	if (part >= 0 && node)
		snprintf(buf, size, ", image of node %s", node);
	else if (part >= 0)
		snprintf(buf, size, ", image %d", part);
	return buf;
}

/* -------------------------------------------------------------------- copy */

/* What is left of one without a manifest: to image_remove() it is no image. */
static int put_aside(const char *parent, const char *dir, struct image_error *error)
{
	_cleanup_free_ char *aside = NULL;

	/* Swept away later: what was fetched has a name of that kind, too. */
	if (asprintf(&aside, "%s/.rm-%s-%d", parent, strrchr(dir, '/') + 1, (int)getpid()) < 0) {
		aside = NULL;
		return -ENOMEM;
	}
	if (rename(dir, aside))
		return image_error_set(error, -errno, "%.200s: %m", dir);
	return 0;
}

/* Durable; what was there is damaged. */
static int put_in_place(const char *got, const char *dir, struct image_error *error)
{
	_cleanup_free_ char *parent = strdup(dir);
	_cleanup_fd_ int fd = -1;
	int err = 0;

	if (!parent)
		return -ENOMEM;
	*strrchr(parent, '/') = '\0';
	/* An empty one, or none. */
	if (rmdir(dir) && errno != ENOENT)
		err = image_remove(dir, error);
	if (err == -ENOENT)
		err = put_aside(parent, dir, error);
	if (err)
		return err;
	if (rename(got, dir))
		return image_error_set(error, -errno, "%.200s: %m", dir);
	image_sweep(parent, NULL);
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		return image_error_set(error, -errno, "%.200s: %m", parent);
	return 0;
}

static int copy_here(struct run *r, struct level *level, const json_t *image, int part,
		     struct image_error *error)
{
	struct image_expect expect = { .generation = (uint64_t)r->generation, .job = r->label };
	const struct level_options options = {
		.expect = &expect, .progress = r->f->progress, .arg = r->f->arg,
	};
	_cleanup_free_ char *dir = place_of(r, part), *got = NULL;
	int err;

	if (!dir || asprintf(&got, "%s/%lld/.tmp-got-%lld-%d", r->f->catalog->dir,
			     (long long)r->f->job, (long long)r->generation, part) < 0) {
		got = NULL;
		return image_error_set(error, -ENOMEM, "out of memory");
	}
	err = part < 0 ? 0 : catalog_part_make(r->f->catalog, r->f->job, r->generation,
					       (unsigned int)part);
	if (err)
		return image_error_set(error, err, "%.200s: %s", dir, strerror(-err));
	/* Of one who was cut off. */
	image_remove(got, NULL);
	err = level_get(level, json_string_value(json_object_get(image, "name")), got, &options, error);
	if (!err)
		err = put_in_place(got, dir, error);
	if (err)
		image_remove(got, NULL);
	else
		r->bytes += (uint64_t)json_integer_value(json_object_get(image, "bytes"));
	return err;
}

/* Copied, or only looked at. */
static int take(struct run *r, struct level *level, const json_t *image, int part,
		struct image_error *error)
{
	struct image_expect expect = { .generation = (uint64_t)r->generation, .job = r->label };
	const struct level_options options = { .expect = &expect };

	if (!r->f->dry_run && is_wanted(r, part))
		return copy_here(r, level, image, part, error);
	return level_verify(level, json_string_value(json_object_get(image, "name")), false, &options,
			    error);
}

static int take_from(struct run *r, const struct tier *tier, const json_t *image, int part,
		     struct image_error *error)
{
	const struct tier_user user = {
		.node = json_string_value(json_object_get(image, "node")), .key = r->key,
		.read_only = true,
	};
	struct level *level;
	int err;

	err = tier_open(tier, &user, &level, error);
	if (err)
		return err;
	err = take(r, level, image, part, error);
	level_close(level);
	return err;
}

/* ---------------------------------------------------------------- one image */

/* 0: it is good. */
static int check_l1(struct run *r, int part)
{
	struct image_expect expect = { .generation = (uint64_t)r->generation, .job = r->label };
	_cleanup_free_ char *dir = place_of(r, part);
	struct image_error error = { "" };
	char of[128];
	int err;

	if (!dir)
		return -ENOMEM;
	if (access(dir, F_OK) && errno == ENOENT) {
		if (is_wanted(r, part))
			step(r, "%s: not in %s", of_part(r, part, of, sizeof(of)), TIER_L1);
		return -ENOENT;
	}
	err = image_verify(dir, r->key, &expect, r->f->deep, NULL, NULL, &error);
	if (err)
		step(r, "%s: %s: %s", of_part(r, part, of, sizeof(of)), TIER_L1,
		     error.text[0] ? error.text : strerror(-err));
	return err;
}

/* What it was had from, if somebody wanted it. */
static void say_fetched(struct run *r, int part, const char *from, const char *name)
{
	char of[128];

	if (is_wanted(r, part))
		step(r, "%s: %s from %s %s", of_part(r, part, of, sizeof(of)),
		     r->f->dry_run ? "would be fetched" : "fetched", from, name);
}

/*
 * From the image directory of another node. That it has none, or does not answer, says nothing of the
 * generation: somebody has said that a node is lost.
 */
static bool fetch_from(struct run *r, int part, const char *node)
{
	const struct tiers_site *site = r->f->site;
	struct image_error error = { "" };
	char name[LEVEL_NAME_MAX + 1], of[128];
	struct level *level;
	json_t *image;
	int err;

	if (!site || !node || !strcmp(node, r->f->node) ||
	    tier_image_name(r->label, r->generation, part, name))
		return false;
	err = tier_open_store(site, node, node, true, r->key, &level, &error);
	if (!err) {
		image = json_pack("{s:s}", "name", name);
		err = take(r, level, image, part, &error);
		json_decref(image);
		level_close(level);
	}
	if (!err)
		say_fetched(r, part, TIER_L1 " of node", node);
	else if (err != -ENOENT && is_wanted(r, part))
		step(r, "%s: " TIER_L1 " of node %s: %s", of_part(r, part, of, sizeof(of)), node,
		     error.text);
	return !err;
}

/* Of an image directory that is not shared: the node's that made it, the job's first one's. */
static bool fetch_from_nodes(struct run *r, int part)
{
	const char *node = part < 0 ? NULL :
			   json_string_value(json_array_get(r->nodes, (size_t)part));

	if (!r->f->parts)
		return false;
	return fetch_from(r, part, node) ||
	       (r->f->home && (!node || strcmp(node, r->f->home)) && fetch_from(r, part, r->f->home));
}

/* One after the other that a level has. */
static bool fetch_image(struct run *r, int part)
{
	const json_t *held = holdings_of(r->scan, r->label, r->generation), *image;
	struct image_error error = { "" };
	int err, before = r->err;
	char of[128];
	unsigned int t;
	size_t i;

	r->remote = r->remote || is_wanted(r, part);
	if (fetch_from_nodes(r, part)) {
		r->err = before;
		return true;
	}
	of_part(r, part, of, sizeof(of));
	for (t = 0; t < r->f->tiers->nr; t++) {
		const struct tier *tier = &r->f->tiers->tier[t];

		json_array_foreach(json_object_get(held, tier->name), i, image) {
			const char *wrong = json_string_value(json_object_get(image, "error"));

			if (json_integer_value(json_object_get(image, "part")) != part)
				continue;
			err = wrong ? -(int)json_integer_value(json_object_get(image, "errno")) :
			      take_from(r, tier, image, part, &error);
			if (!err) {
				r->err = before;
				say_fetched(r, part, "level", tier->name);
				return true;
			}
			note_failure(r, err);
			if (is_wanted(r, part))
				step(r, "%s: level %s: %s", of, tier->name, wrong ? wrong : error.text);
		}
	}
	return false;
}

/* Only what is damaged or gone is replaced: another job's image, say, is nobody's to remove here. */
static bool have_image(struct run *r, int part)
{
	int err = check_l1(r, part);

	if (err && !is_lost(err))
		note_failure(r, err);
	return !err || (is_lost(err) && fetch_image(r, part));
}

/* --------------------------------------------------------------- one generation */

/* The highest number of a part that a level has; -1: it has none, or is of one image. */
static int last_part(const struct run *r)
{
	const json_t *held = holdings_of(r->scan, r->label, r->generation), *images, *image;
	json_int_t last = -1;
	const char *level;
	size_t i;

	json_object_foreach((json_t *)held, level, images) {
		json_array_foreach(images, i, image) {
			json_int_t part = json_integer_value(json_object_get(image, "part"));

			if (!json_object_get(image, "error") && part > last)
				last = part;
		}
	}
	return (int)last;
}

/* The names in the record of an image, which is had here for that; NULL. */
static json_t *nodes_by(struct run *r, int part)
{
	_cleanup_free_ char *dir = place_of(r, part);
	json_t *record, *nodes;
	bool have;

	r->all = true;
	have = have_image(r, part);
	r->all = false;
	if (!have)
		return NULL;
	record = fetch_record_read(dir, r->key, NULL);
	nodes = json_incref(json_object_get(json_object_get(record, "ranks"), "nodes"));
	json_decref(record);
	if (!nodes)
		step(r, ": its images do not say of how many nodes it is");
	return nodes;
}

/* Which nodes' images it is of: as L1 says, or any one of the images. */
static bool find_nodes(struct run *r)
{
	json_t *outcome;
	int part, last;

	if (r->f->ranks) {
		r->nodes = json_incref(json_object_get(r->f->ranks, "nodes"));
		r->parted = r->nodes;
		return true;
	}
	outcome = holdings_nodes(r->f->catalog, r->f->job, r->generation, &r->nodes);
	if (outcome)
		json_decref(outcome);
	r->parted = r->nodes;
	if (r->nodes)
		return true;
	last = last_part(r);
	if (last < 0)
		return true;
	r->parted = true;
	/* A dry run looks no further than this: it would have to copy one. */
	for (part = 0; part <= last && !r->nodes && !r->f->dry_run; part++)
		r->nodes = nodes_by(r, part);
	return r->nodes || r->f->dry_run;
}

static bool is_in_l1(const struct run *r, int part)
{
	_cleanup_free_ char *dir = place_of(r, part);

	return dir && !access(dir, F_OK);
}

/*
 * Parity is worth something with most of the images that it is of. Where these are lost as well, and on
 * another level, they are to be here first. True: there is something more here.
 */
static bool gather(struct run *r, int missing)
{
	size_t i, nr = json_array_size(r->nodes);
	bool more = false;
	unsigned int t;

	for (t = 0; t < r->f->tiers->nr && !tier_is_group(&r->f->tiers->tier[t]);)
		t++;
	if (t == r->f->tiers->nr || r->f->dry_run)
		return false;
	r->all = true;
	for (i = 0; i < nr; i++) {
		if ((int)i != missing && !is_in_l1(r, (int)i))
			more = have_image(r, (int)i) || more;
	}
	return more;
}

static bool have_part(struct run *r, int part)
{
	bool have = have_image(r, part) || (gather(r, part) && have_image(r, part));

	r->all = false;
	return have;
}

static bool have_parts(struct run *r)
{
	size_t i, nr = json_array_size(r->nodes);

	for (i = 0; i < nr; i++) {
		if (!have_part(r, (int)i)) {
			char of[128];

			step(r, "%s: no good one is left anywhere", of_part(r, (int)i, of, sizeof(of)));
			return false;
		}
	}
	return true;
}

/* All of its images are in L1: it is a generation. */
static bool commit_parts(struct run *r)
{
	json_t *ranks = json_incref((json_t *)r->f->ranks), *record, *parts = NULL;
	_cleanup_free_ char *dir = place_of(r, 0);
	char why[512] = "";
	int err;

	err = catalog_generation_parts(r->f->catalog, r->f->job, r->generation, &parts, why, sizeof(why));
	json_decref(parts);
	if (!err) {
		json_decref(ranks);
		return true;
	}
	if (!ranks) {
		record = fetch_record_read(dir, r->key, NULL);
		ranks = json_incref(json_object_get(record, "ranks"));
		json_decref(record);
	}
	err = ranks ? catalog_generation_commit(r->f->catalog, r->f->job, r->generation, ranks, why,
						sizeof(why)) : -EBADMSG;
	json_decref(ranks);
	if (err) {
		note_failure(r, err);
		step(r, ": %s", why[0] ? why : strerror(-err));
	}
	return !err;
}

static bool have_generation(struct run *r, int64_t generation)
{
	json_decref(r->nodes);
	r->nodes = NULL;
	r->generation = generation;
	r->remote = false;
	r->err = 0;
	if (!find_nodes(r))
		return false;
	if (r->parted && !r->nodes) {
		r->remote = true;
		step(r, ": would be fetched, as far as its images are on the levels");
		return true;
	}
	if (r->parted)
		return have_parts(r) && (r->f->dry_run || commit_parts(r));
	if (have_image(r, -1))
		return true;
	step(r, ": no good one is left anywhere");
	return false;
}

/* --------------------------------------------------------------------- which */

static int descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x > y ? -1 : x < y;
}

/* Newest first, each once. */
static size_t candidates(const struct run *r, int64_t **ret_all)
{
	json_t *in_l1 = catalog_generations(r->f->catalog, r->f->job), *number;
	json_t *of_job = json_object_get(json_object_get(r->scan, "jobs"), r->label);
	size_t i, n = 0, nr = json_array_size(in_l1) + json_object_size(of_job);
	int64_t *all = calloc(nr + 1, sizeof(*all));
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
	json_decref(in_l1);
	qsort(all, n, sizeof(*all), descending);
	for (i = nr = 0; i < n; i++) {
		if (!i || all[i] != all[i - 1])
			all[nr++] = all[i];
	}
	return nr;
}

/* Only levels have it from which somebody has removed it, or tried to. */
static bool is_unwanted(const struct run *r, int64_t generation)
{
	const json_t *held = holdings_of(r->scan, r->label, generation), *images;
	const char *level;

	if (!held || catalog_has(r->f->catalog, r->f->job, generation))
		return false;
	json_object_foreach((json_t *)held, level, images) {
		if (!unwanted_has(r->f->unwanted, level, generation))
			return false;
	}
	return true;
}

/* What is not asked for goes; how many are left. */
static size_t choose(const struct run *r, int64_t *all, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++) {
		if (r->f->generation ? all[i] == r->f->generation : !is_unwanted(r, all[i]))
			all[n++] = all[i];
	}
	return n;
}

static json_t *failed(const struct run *r, int err, const char *text)
{
	json_t *outcome = outcome_error(err, "%s", text);

	json_object_set(json_object_get(outcome, "error"), "steps", r->steps);
	return outcome;
}

/* A node of which levels have something of the job, or that knows it: ours. */
static bool is_of_job(const struct run *r, const char *node)
{
	const json_t *held, *images, *image;
	const char *number, *level;
	size_t i;

	if (!*node || (r->f->label && !strcmp(node, r->f->node)))
		return true;
	json_object_foreach(json_object_get(json_object_get(r->scan, "jobs"), r->label), number, held) {
		json_object_foreach((json_t *)held, level, images) {
			json_array_foreach(images, i, image) {
				if (!strcmp(json_string_value(json_object_get(image, "node")), node))
					return true;
			}
		}
	}
	return false;
}

/* A level that could not be asked, and may have something newer; NULL: none. */
static const char *silent_level(const struct run *r)
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

/* Of which generation it is gone on with is not decided by what happens to be away. */
static json_t *not_silently(struct run *r, int64_t next, bool newest)
{
	const char *level = silent_level(r);
	char text[256];

	if (r->f->generation)
		return NULL;
	if (r->err && !is_lost(r->err)) {
		snprintf(text, sizeof(text), "generation %lld of job %lld is there and cannot be had now: see to that, or name an older one (%lld:%lld)",
			 (long long)r->generation, (long long)r->f->job, (long long)r->f->job,
			 (long long)next);
		return failed(r, r->err, text);
	}
	if (!level || (newest && r->known))
		return NULL;
	snprintf(text, sizeof(text), "level %s could not be asked and may have a newer generation of job %lld: make it reachable, or name the one that is meant (%lld:%lld)",
		 level, (long long)r->f->job, (long long)r->f->job, (long long)next);
	return failed(r, -EHOSTUNREACH, text);
}

static void say_errors(struct run *r)
{
	const json_t *text;
	const char *name;

	json_object_foreach(json_object_get(r->scan, "errors"), name, text)
		json_array_append_new(r->steps, json_sprintf("level %s could not be asked: %s", name,
							     json_string_value(text)));
}

/* @newest: what there is all the same; 0: nothing. */
static json_t *unreachable(const struct run *r, int64_t asked, int64_t newest)
{
	char what[200];

	if (!asked && newest) {
		snprintf(what, sizeof(what), "job %lld: all that is left was removed, and is on levels that could not do that: name the one that is meant (%lld:%lld)",
			 (long long)r->f->job, (long long)r->f->job, (long long)newest);
		return failed(r, -ENOENT, what);
	}
	snprintf(what, sizeof(what), asked ? "job %lld has no generation %lld" :
		 "job %lld has no checkpoint to restart from", (long long)r->f->job, (long long)asked);
	return failed(r, -ENOENT, what);
}

static json_t *try_all(struct run *r)
{
	_cleanup_free_ int64_t *all = NULL;
	size_t i, nr = candidates(r, &all);
	int64_t newest = nr ? all[0] : 0;
	json_int_t run = 0;
	char text[120];
	json_t *no;

	nr = choose(r, all, nr);
	r->known = nr && catalog_has(r->f->catalog, r->f->job, all[0]);
	for (i = 0; i < nr; i++) {
		no = not_silently(r, all[i], !i);
		if (no)
			return no;
		if (!have_generation(r, all[i]))
			continue;
		no = r->f->dry_run ? NULL :
		     fetch_record_complete(r->f, r->key, r->label, r->generation, r->nodes, newest,
					   r->steps, &run);
		return no ? no : outcome_ok(json_pack("{s:I, s:b, s:I, s:I, s:I, s:O}", "generation",
						      (json_int_t)all[i], "in_l1",
						      !r->f->dry_run || !r->remote, "bytes",
						      (json_int_t)r->bytes, "newest",
						      (json_int_t)newest, "run", run, "steps",
						      r->steps));
	}
	if (!nr)
		return unreachable(r, r->f->generation, newest);
	if (r->err && !is_lost(r->err)) {
		snprintf(text, sizeof(text), "generation %lld of job %lld is there and cannot be had now",
			 (long long)r->generation, (long long)r->f->job);
		return failed(r, r->err, text);
	}
	if (r->f->generation)
		snprintf(text, sizeof(text), "generation %lld of job %lld: no good one is left anywhere",
			 (long long)r->f->generation, (long long)r->f->job);
	else
		snprintf(text, sizeof(text), "job %lld: of no generation a good one is left anywhere",
			 (long long)r->f->job);
	return failed(r, -EBADMSG, text);
}

/* ---------------------------------------------------------------------- job */

/* By number; NULL, or an outcome. */
static json_t *find_label(struct run *r)
{
	json_t *jobs = json_object_get(r->scan, "jobs"), *held;
	const char *label;

	if (r->f->label) {
		snprintf(r->label, sizeof(r->label), "%s", r->f->label);
		return NULL;
	}
	if (json_object_size(jobs) > 1)
		return outcome_error(-ENOTUNIQ, "%zu jobs on the levels have the number %lld: more than one image directory was in use",
				     json_object_size(jobs), (long long)r->f->job);
	json_object_foreach(jobs, label, held)
		snprintf(r->label, sizeof(r->label), "%s", label);
	return json_object_size(jobs) ? NULL :
	       outcome_error(-ENOENT, "there is no job %lld", (long long)r->f->job);
}

/*
 * Whose it is, where a level's manifest can be read as it lies there; of a partner's it is known
 * only when one is here.  NULL, or an outcome.
 */
static json_t *check_owner(const struct run *r)
{
	const json_t *held, *image;
	json_t *outcome = NULL;
	const char *number;
	unsigned int t;
	size_t i;

	if (r->f->label || !r->f->uid)
		return NULL;
	json_object_foreach(json_object_get(json_object_get(r->scan, "jobs"), r->label), number, held) {
		for (t = 0; t < r->f->tiers->nr && !outcome; t++) {
			const struct tier *tier = &r->f->tiers->tier[t];

			json_array_foreach(json_object_get(held, tier->name), i, image) {
				if (!outcome && tier_is_dir(tier) && !json_object_get(image, "error"))
					outcome = fetch_record_owner(r->f, r->key, tier_dir(tier), image);
			}
		}
	}
	return outcome;
}

/* A job that L1 does not know, nobody has claimed: one fetch at a time. NULL, or an outcome. */
static json_t *begin_unknown(const struct fetch *f, int *ret_lock)
{
	json_t *outcome = fetch_record_begin(f);
	int err = outcome ? 0 : catalog_lock(f->catalog, f->job, ret_lock);

	if (err)
		outcome = outcome_error(err, "job %lld: %s", (long long)f->job, err == -EBUSY ?
					"it is being fetched just now; try again" : strerror(-err));
	return outcome;
}

json_t *fetch_run(const struct fetch *f)
{
	struct holdings_scope scope = {
		.tiers = f->tiers, .node = f->node, .label = f->label, .job = f->job, .hosts = f->hosts,
	};
	struct run r = { .f = f, .steps = json_array() };
	struct image_error error = { "" };
	_cleanup_fd_ int lock = -1;
	json_t *outcome;
	int err;

	err = image_key_load(f->catalog->key, &r.key, &error);
	if (err) {
		json_decref(r.steps);
		return outcome_error(err, "%s", error.text);
	}
	/* What cannot be read without it says so. */
	if (f->catalog->secret)
		image_key_secret(r.key, f->catalog->secret, NULL);
	scope.key = r.key;
	r.scan = holdings_scan(&scope);
	say_errors(&r);
	outcome = find_label(&r);
	if (!outcome)
		outcome = check_owner(&r);
	if (!outcome && !f->label && !f->dry_run)
		outcome = begin_unknown(f, &lock);
	if (!outcome)
		outcome = try_all(&r);
	/* Of another's job nothing stays here. */
	if (lock >= 0 && outcome_errno(outcome) == -EPERM)
		fetch_record_undo(f, r.generation);
	json_decref(r.scan);
	json_decref(r.steps);
	json_decref(r.nodes);
	image_key_destroy(r.key);
	return outcome;
}
