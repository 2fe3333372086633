// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listing the images that the levels have; see inventory.h.
 *
 * Keeps nothing: every answer is a reading of the levels' directories, in which each
 * manifest was authenticated. Levels are opened for reading only, so a writer is not in the
 * way, and nothing is made or swept. A level reports what an image's manifest says; the
 * image's name says whose it was, and both have to agree.
 */
#include "supervisor/storage/inventory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "supervisor/catalog/generation.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/level_config_group.h"

json_t *inventory_nodes(const struct catalog *catalog, int64_t job, int64_t generation,
		       json_t **ret_nodes)
{
	json_t *parts, *part, *outcome = generation_parts(catalog, job, generation, &parts);
	size_t i;

	*ret_nodes = NULL;
	if (outcome || !parts)
		return outcome;
	*ret_nodes = json_array();
	json_array_foreach(parts, i, part)
		json_array_append(*ret_nodes, json_object_get(part, "node"));
	json_decref(parts);
	return NULL;
}

int inventory_parts_on(const struct level_config *conf, const struct image_key *key,
		       const char *label, int64_t generation, const json_t *nodes)
{
	struct level_options options = { NULL };
	char name[LEVEL_NAME_MAX + 1];
	struct ckpt_error error;
	struct level *level;
	int found = 0;
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		struct image_expect expect = {
			.generation = (uint64_t)generation, .job = label,
		};
		struct level_user user = {
			.node = level_config_owner(conf, nodes, i), .key = key,
			.read_only = true,
		};

		options.expect = &expect;
		if (!user.node || level_image_name(label, generation, (int)i, name) ||
		    level_config_open(conf, &user, &level, &error))
			continue;
		if (!level_verify(level, name, false, &options, &error))
			found++;
		level_close(level);
	}
	return found;
}

/* -------------------------------------------------------------------- scan */

struct scan {
	const struct inventory_scope *scope;
	const struct level_config *conf;
	const char *node;	/* owner of the directory that is read */
	json_t *jobs, *errors, *silent;
};

/* The object @key of @parent, which is made if it is missing; borrowed. */
static json_t *object_at(json_t *parent, const char *key)
{
	if (!json_object_get(parent, key))
		json_object_set_new(parent, key, json_object());
	return json_object_get(parent, key);
}

static bool is_wanted(const struct inventory_scope *scope, const char *label)
{
	char prefix[32];

	if (scope->label && strcmp(scope->label, label))
		return false;
	snprintf(prefix, sizeof(prefix), "%lld-", (long long)scope->job);
	return !scope->job || !strncmp(label, prefix, strlen(prefix));
}

static int inventory_on_item(const struct level_item *item, void *arg)
{
	const struct scan *s = arg;
	json_t *of_generation, *image;
	char label[64], number[24];
	int64_t generation;
	int part;

	if (!level_image_parse(item->name, label, sizeof(label), &generation, &part) ||
	    !is_wanted(s->scope, label))
		return 0;
	image = json_pack("{s:s, s:i, s:s}", "node", s->node, "part", part, "name", item->name);
	if (!item->err && (strcmp(item->job, label) || item->generation != (uint64_t)generation)) {
		json_object_set_new(image, "errno", json_integer(ESTALE));
		json_object_set_new(image, "error",
				    json_sprintf("it is generation %" PRIu64 " of %s",
						 item->generation, item->job));
	} else if (item->err) {
		json_object_set_new(image, "errno", json_integer(-item->err));
		json_object_set_new(image, "error", json_string(item->text));
	} else {
		json_object_set_new(image, "bytes", json_integer((json_int_t)item->bytes));
		json_object_set_new(image, "created",
				    json_integer((json_int_t)(item->created_ns / 1000000000)));
		if (item->have < item->of)
			json_object_set_new(image, "short", json_true());
		if (item->of) {
			json_object_set_new(image, "coded", json_integer(item->coded));
			json_object_set_new(image, "holders", json_integer(item->holders));
		}
	}
	snprintf(number, sizeof(number), "%" PRId64, generation);
	of_generation = object_at(object_at(s->jobs, label), number);
	if (!json_object_get(of_generation, s->conf->name))
		json_object_set_new(of_generation, s->conf->name, json_array());
	json_array_append_new(json_object_get(of_generation, s->conf->name), image);
	return 0;
}

/* @node: "": the whole level, whichever node's images. */
static void cannot_ask(struct scan *s, const char *node, const char *text)
{
	json_object_set_new(s->errors, s->conf->name, json_string(text));
	json_object_set_new(object_at(s->silent, s->conf->name), node, json_string(text));
}

/* The common beginning of the names of the images that are asked for. */
static const char *prefix_of(const struct inventory_scope *scope, char *buf, size_t size)
{
	buf[0] = '\0';
	if (scope->label)
		snprintf(buf, size, "%s.", scope->label);
	else if (scope->job)
		snprintf(buf, size, "%lld-", (long long)scope->job);
	return buf;
}

static int scan_node(const char *node, void *arg)
{
	struct scan *s = arg;
	const struct level_user user = {
		.node = node, .key = s->scope->key, .read_only = true, .patient = s->scope->patient,
		.state_dir = strcmp(node, s->scope->node) ? NULL : s->scope->state_dir,
	};
	bool ours = !strcmp(node, s->scope->node);
	struct ckpt_error error = {};
	char prefix[LEVEL_NAME_MAX + 1];
	struct level *level;
	int err;

	s->node = node;
	err = level_config_open(s->conf, &user, &level, &error);
	if (!err) {
		err = level_list(level, prefix_of(s->scope, prefix, sizeof(prefix)),
				 inventory_on_item, s, &error);
		level_close(level);
	}
	/* Another directory is at the level's place: then no node's images can be asked for. */
	if (ours && err == -ESTALE && level_config_is_dir(s->conf)) {
		cannot_ask(s, "", error.text);
		return err;
	}
	/*
	 * Our directory is made by the first copy. A node without a directory there has
	 * nothing on the level.
	 */
	if (err && (ours || !level_config_is_dir(s->conf) ? err != -ENOENT : err == -EIO))
		cannot_ask(s, node, error.text);
	return 0;
}

static int scan_other(const char *node, void *arg)
{
	const struct scan *s = arg;

	if (!strcmp(node, s->scope->node) ||
	    (s->scope->nodes && !json_object_get(s->scope->nodes, node)))
		return 0;
	return scan_node(node, arg);
}

json_t *inventory_scan(const struct inventory_scope *scope)
{
	struct scan s = { .scope = scope, .jobs = json_object(), .errors = json_object(),
			  .silent = json_object() };
	struct ckpt_error error = {};
	unsigned int t;

	for (t = 0; t < scope->levels->nr; t++) {
		s.conf = &scope->levels->conf[t];
		if (level_config_check(s.conf, &error)) {
			cannot_ask(&s, "", error.text);
			continue;
		}
		if (scan_node(scope->node, &s))
			continue;
		level_config_nodes(s.conf, scope->nodes ? scope->nodes : scope->hosts, scan_other,
				   &s);
	}
	return json_pack("{s:o, s:o, s:o}", "jobs", s.jobs, "errors", s.errors, "silent", s.silent);
}

json_t *inventory_of_job(const json_t *scan, const char *label)
{
	return json_object_get(json_object_get(scan, "jobs"), label);
}

json_t *inventory_of(const json_t *scan, const char *label, int64_t generation)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRId64, generation);
	return json_object_get(inventory_of_job(scan, label), number);
}

/* ------------------------------------------------------------------- state */

json_t *inventory_find(const json_t *images, int part)
{
	json_t *image;
	size_t i;

	json_array_foreach(images, i, image) {
		if (!json_object_get(image, "error") &&
		    json_integer_value(json_object_get(image, "part")) == part)
			return image;
	}
	return NULL;
}

/* The number of different parts; the same part may be in two nodes' directories. */
static int count_parts(const json_t *images)
{
	const json_t *image;
	int n = 0;
	size_t i;

	json_array_foreach(images, i, image) {
		int part = (int)json_integer_value(json_object_get(image, "part"));

		n += inventory_find(images, part) == image && !json_object_get(image, "short");
	}
	return n;
}

static json_t *state_on(const json_t *images, int nodes)
{
	int have = count_parts(images);
	const json_t *first = json_array_get(images, 0);
	int of = nodes > 0 ? nodes : 1;

	if (!json_array_size(images))
		return json_pack("{s:s}", "state", "missing");
	if (!have && !json_object_get(first, "short"))
		return json_pack("{s:s, s:O*}", "state", "damaged", "text",
				 json_object_get(first, "error"));
	if (nodes < 0 && json_integer_value(json_object_get(first, "part")) >= 0)
		return json_pack("{s:s, s:i}", "state", "partial", "have", have);
	if (have < of)
		return json_pack("{s:s, s:i, s:i}", "state", "partial", "have", have, "of", of);
	return json_pack("{s:s}", "state", "here");
}

json_t *inventory_levels(const struct level_configs *levels, const json_t *scan, const json_t *held,
			int nodes, bool in_l1)
{
	json_t *states = json_array(), *level;
	unsigned int t;

	json_array_append_new(states, json_pack("{s:s, s:s}", "level", LEVEL_CONFIG_L1, "state",
						in_l1 ? "here" : "missing"));
	for (t = 0; t < levels->nr; t++) {
		const char *name = levels->conf[t].name;
		const json_t *images = json_object_get(held, name);

		if (!images && json_object_get(json_object_get(scan, "errors"), name))
			level = json_pack("{s:s, s:O}", "state", "unknown", "text",
					  json_object_get(json_object_get(scan, "errors"), name));
		else
			level = state_on(images, nodes);
		json_object_set_new(level, "level", json_string(name));
		json_array_append_new(states, level);
	}
	return states;
}
