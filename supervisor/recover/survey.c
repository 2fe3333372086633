// SPDX-License-Identifier: GPL-2.0-only
/*
 * The survey of a job's images; see survey.h.
 *
 * Owns what each kind of level means in a topology: on which nodes its copy depends, and how many
 * of them must be left. Where something is not known, the copy counts as one that does not work,
 * with the reason: a recovery must not begin with a generation that is then not there.
 */
#include "supervisor/recover/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "supervisor/storage/inventory.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/storage/tombstone.h"

/* The generation that is being surveyed. */
struct survey_one {
	const struct survey *s;
	struct topology *t;
	struct topology_generation *g;
	const json_t *held;	/* inventory_of() */
	bool traced;		/* this node's image directory has anything of it */
};

static int survey_hold(struct survey_one *one, struct topology_copy *copy, const char *name)
{
	int node = topology_node(one->t, name);

	return node < 0 ? node : topology_hold(copy, (unsigned int)node);
}

/* ---------------------------------------------------------------------- L1 */

static bool survey_is_here(const struct survey_one *one, int part)
{
	const struct catalog *catalog = one->s->catalog;
	_cleanup_free_ char *dir = part < 0 ?
		catalog_image_dir(catalog, one->s->job, one->g->number) :
		catalog_part_dir(catalog, one->s->job, one->g->number, (unsigned int)part);

	return dir && !access(dir, F_OK);
}

static int survey_l1(struct survey_one *one, struct topology_group *group, const char *node)
{
	struct topology_copy *copy = &group->copy[0];

	if (one->s->shared) {
		copy->held = survey_is_here(one, group->part);
		return 0;
	}
	copy->held = strcmp(node, one->s->node) ? one->traced : survey_is_here(one, group->part);
	if (copy->held && json_object_get(one->s->silent, node)) {
		copy->held = false;
		snprintf(copy->why, sizeof(copy->why), "node %.63s does not answer", node);
	}
	copy->need = 1;
	return topology_hold(copy, group->node);
}

/* ------------------------------------------------------------------ other levels */

/* The group of that part; NULL: the generation has none. */
static const struct topology_group *survey_group(const struct topology_generation *g, int part)
{
	unsigned int i;

	for (i = 0; i < g->nr_groups; i++) {
		if (g->groups[i].part == part)
			return &g->groups[i];
	}
	return NULL;
}

/*
 * Parity by @coder rebuilds an image from as many images and pieces as there were images. An image
 * in a directory that all nodes share is left whatever node is lost.
 */
static int survey_parity(struct survey_one *one, struct topology_copy *copy,
			 const struct level_config *conf, const json_t *images,
			 const json_t *image)
{
	const char *coder = json_string_value(json_object_get(image, "node"));
	json_int_t holders = json_integer_value(json_object_get(image, "holders"));
	unsigned int i, need = (unsigned int)json_integer_value(json_object_get(image, "coded"));
	const struct topology_group *member;
	const json_t *other;
	size_t at;
	int err = 0;

	json_array_foreach(images, at, other) {
		if (json_object_get(other, "error") ||
		    strcmp(json_string_value(json_object_get(other, "node")), coder))
			continue;
		member = survey_group(one->g,
				      (int)json_integer_value(json_object_get(other, "part")));
		if (!member || !member->copy[0].held)
			continue;
		if (one->s->shared)
			need -= need > 0;
		else if (!err)
			err = topology_hold(copy, member->node);
	}
	for (i = 0; i < conf->m && !err; i++) {
		const char *holder = holders & 1LL << i ? level_config_holder(conf, coder, i) :
					NULL;

		err = holder ? survey_hold(one, copy, holder) : 0;
	}
	copy->need = need;
	return err;
}

static int survey_found(struct survey_one *one, struct topology_copy *copy,
			const struct level_config *conf, const json_t *images, const json_t *image)
{
	const char *owner = json_string_value(json_object_get(image, "node")), *holder;

	copy->held = true;
	if (level_config_is_group(conf))
		return survey_parity(one, copy, conf, images, image);
	if (level_config_is_dir(conf))
		return 0;
	holder = level_config_holder(conf, owner, 0);
	if (!holder) {
		copy->held = false;
		snprintf(copy->why, sizeof(copy->why), "the partner of %.63s is not known", owner);
		return 0;
	}
	copy->need = 1;
	return survey_hold(one, copy, holder);
}

/* Say why the level has no good image of @part. */
static void survey_missing(const struct survey_one *one, struct topology_copy *copy,
			   const struct level_config *conf, const json_t *images, int part)
{
	const json_t *silent = json_object_get(json_object_get(one->s->scan, "errors"),
					       conf->name);
	const json_t *image;
	size_t i;

	json_array_foreach(images, i, image) {
		const char *text = json_string_value(json_object_get(image, "error"));

		if (text && json_integer_value(json_object_get(image, "part")) == part) {
			snprintf(copy->why, sizeof(copy->why), "%.159s", text);
			return;
		}
	}
	if (silent)
		snprintf(copy->why, sizeof(copy->why), "it could not be asked: %.130s",
			 json_string_value(silent));
}

static int survey_level(struct survey_one *one, struct topology_group *group, unsigned int level)
{
	const struct level_config *conf = &one->s->levels->conf[level - 1];
	const json_t *images = json_object_get(one->held, conf->name);
	const json_t *image = inventory_find(images, group->part);
	struct topology_copy *copy = &group->copy[level];

	if (!image) {
		survey_missing(one, copy, conf, images, group->part);
		return 0;
	}
	if (tombstone_has(one->s->tombstones, conf->name, one->g->number)) {
		snprintf(copy->why, sizeof(copy->why), "it was removed from there");
		return 0;
	}
	return survey_found(one, copy, conf, images, image);
}

/* -------------------------------------------------------------- one generation */

/* The node below whose name a level has the only image of a generation; else this node. */
static const char *survey_owner(const struct survey *s, const json_t *held)
{
	const json_t *images, *image;
	const char *level;

	json_object_foreach((json_t *)held, level, images) {
		image = inventory_find(images, -1);
		if (image)
			return json_string_value(json_object_get(image, "node"));
	}
	return s->node;
}

static bool survey_is_single(const json_t *held)
{
	const json_t *images;
	const char *level;

	json_object_foreach((json_t *)held, level, images) {
		if (inventory_find(images, -1))
			return true;
	}
	return false;
}

/*
 * The names of the nodes of a generation, by part, a new reference; NULL: it is one image, or
 * @ret_why says why they are not known.
 */
static json_t *survey_nodes(const struct survey *s, int64_t number, const json_t *held,
			    char *ret_why, size_t size)
{
	json_t *nodes = NULL, *outcome;

	ret_why[0] = '\0';
	if (catalog_has(s->catalog, s->job, number)) {
		outcome = inventory_nodes(s->catalog, s->job, number, &nodes);
		if (outcome)
			snprintf(ret_why, size, "%.159s",
				 json_string_value(json_object_get(json_object_get(outcome,
										   "error"),
								   "text")));
		json_decref(outcome);
		return nodes;
	}
	if (survey_is_single(held))
		return NULL;
	if (s->nodes && number > s->since)
		return json_incref((json_t *)s->nodes);
	snprintf(ret_why, size, "this node's image directory does not have it, and does not tell "
		 "of which nodes it is");
	return NULL;
}

static bool survey_is_traced(const struct survey *s, int64_t number)
{
	json_t *traces = catalog_traces(s->catalog, s->job), *trace;
	bool found = false;
	size_t i;

	json_array_foreach(traces, i, trace)
		found = found || json_integer_value(trace) == number;
	json_decref(traces);
	return found;
}

static int survey_generation(const struct survey *s, struct topology *t, int64_t number)
{
	struct survey_one one = {
		.s = s, .t = t, .held = inventory_of(s->scan, s->label, number),
		.traced = survey_is_traced(s, number),
	};
	unsigned int i, n, nr;
	char why[TOPOLOGY_WHY_MAX];
	const char *name;
	json_t *nodes;
	int err = 0;

	nodes = survey_nodes(s, number, one.held, why, sizeof(why));
	nr = why[0] ? 0 : nodes ? (unsigned int)json_array_size(nodes) : 1;
	one.g = topology_add(t, number, nr);
	if (!one.g)
		err = -ENOMEM;
	else
		strcpy(one.g->why, why);
	for (i = 0; i < nr && !err; i++) {
		struct topology_group *group = &one.g->groups[i];
		int node;

		name = nodes ? json_string_value(json_array_get(nodes, i)) :
			       survey_owner(s, one.held);
		node = topology_node(t, name ? name : "");
		group->node = node < 0 ? 0 : (unsigned int)node;
		group->part = nodes ? (int)i : -1;
		err = node < 0 ? node : survey_l1(&one, group, name ? name : "");
	}
	/* Parity needs to know of all groups whether L1 has them. */
	for (i = 0; i < nr && !err; i++)
		for (n = 1; n < t->nr_levels && !err; n++)
			err = survey_level(&one, &one.g->groups[i], n);
	json_decref(nodes);
	return err;
}

int survey_make(const struct survey *survey, struct topology *ret_topology)
{
	struct topology t = { .nr_levels = survey->levels->nr + 1 };
	json_t *numbers = catalog_generations(survey->catalog, survey->job), *number;
	const char *name;
	json_t *held;
	size_t i;
	int err = 0;

	*ret_topology = (struct topology) { 0 };
	json_array_foreach(numbers, i, number)
		err = err ?: survey_generation(survey, &t, json_integer_value(number));
	json_object_foreach(inventory_of_job(survey->scan, survey->label), name, held) {
		if (!catalog_has(survey->catalog, survey->job, atoll(name)))
			err = err ?: survey_generation(survey, &t, atoll(name));
	}
	json_decref(numbers);
	if (err)
		topology_done(&t);
	else
		*ret_topology = t;
	return err;
}
