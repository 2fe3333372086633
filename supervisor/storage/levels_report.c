// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reporting the levels' state to users; see levels_report.h.
 *
 * Nothing is kept or decided here: levels are asked, and their answers are shown beside
 * L1's.
 */
#include "supervisor/storage/levels_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/key.h"
#include "supervisor/storage/inventory.h"
#include "supervisor/net/nodes.h"
#include "supervisor/storage/level_config_group.h"

/* -------------------------------------------------------------------- list */

static void levels_report_add_names(json_t *set, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
		json_object_set_new(set, json_string_value(name), json_true());
}

/* The nodes that the listed jobs and generations are known to have been on. */
static json_t *nodes_of(const json_t *jobs)
{
	json_t *set = json_object();
	const json_t *job, *row;
	size_t i, k;

	json_array_foreach(jobs, i, job) {
		const json_t *node = json_object_get(job, "node");

		if (json_is_string(node))
			json_object_set_new(set, json_string_value(node), json_true());
		levels_report_add_names(set,
					json_object_get(json_object_get(job, "ranks"), "nodes"));
		json_array_foreach(json_object_get(job, "generations"), k, row)
			levels_report_add_names(set, json_object_get(row, "nodes"));
	}
	return set;
}

static int count_of(const json_t *row)
{
	const json_t *nodes = json_object_get(row, "nodes");

	/* a row that cannot be read does not tell its number of nodes */
	return nodes ? (int)json_array_size(nodes) : json_object_get(row, "error") ? -1 : 0;
}

/* A row for a generation that only levels have. */
static json_t *row_elsewhere(int64_t generation, const json_t *held)
{
	json_t *row = json_pack("{s:I}", "generation", (json_int_t)generation);
	const json_t *images, *image;
	json_int_t bytes = 0;
	const char *level;
	size_t i;

	json_object_foreach((json_t *)held, level, images) {
		json_array_foreach(images, i, image) {
			if (json_object_get(image, "error"))
				continue;
			json_object_set(row, "created", json_object_get(image, "created"));
			bytes += json_integer_value(json_object_get(image, "bytes"));
		}
		if (bytes)
			break;
	}
	json_object_set_new(row, "bytes_stored", json_integer(bytes));
	return row;
}

static bool is_one_image(const json_t *held)
{
	const json_t *images;
	const char *level;

	json_object_foreach((json_t *)held, level, images) {
		if (inventory_find(images, -1))
			return true;
	}
	return false;
}

/* Insert in the order of generation numbers. */
static void levels_report_insert(json_t *rows, json_t *row)
{
	json_int_t number = json_integer_value(json_object_get(row, "generation"));
	size_t i;

	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *other = json_array_get(rows, i);

		if (json_integer_value(json_object_get(other, "generation")) > number)
			break;
	}
	json_array_insert_new(rows, i, row);
}

static void add_to_job(const struct level_configs *levels, const json_t *scan, const json_t *job,
		       const struct window *window)
{
	json_t *rows = json_object_get(job, "generations"), *row, *seen = json_object();
	const char *label = json_string_value(json_object_get(job, "label"));
	const json_t *held;
	const char *number;
	json_t *l1 = json_copy(rows);
	char text[24];
	size_t i;

	json_array_foreach(rows, i, row) {
		int64_t n = json_integer_value(json_object_get(row, "generation"));

		json_object_set_new(row, "levels", inventory_levels(levels, scan,
								   inventory_of(scan, label, n),
								   count_of(row), true));
		snprintf(text, sizeof(text), "%lld", (long long)n);
		json_object_set_new(seen, text, json_true());
	}
	json_object_foreach(inventory_of_job(scan, label), number, held) {
		if (json_object_get(seen, number) || !window_may_have(window, l1, atoll(number)))
			continue;
		row = row_elsewhere(atoll(number), held);
		json_object_set_new(row, "levels",
				    inventory_levels(levels, scan, held,
						     is_one_image(held) ? 0 : -1, false));
		levels_report_insert(rows, row);
	}
	window_cut(window, rows);
	json_decref(l1);
	json_decref(seen);
}

void levels_report_list(const struct common *common, json_t *jobs, bool one,
			const struct window *window)
{
	struct inventory_scope scope = {
		.levels = &common->config.levels, .node = common->config.node,
		.state_dir = common->config.state_dir,
	};
	struct image_key *key = NULL;
	json_t *nodes, *hosts, *scan, *job;
	struct ckpt_error error;
	size_t i;

	if (!scope.levels->nr || image_key_load(common->config.key, &key, &error))
		return;
	nodes = one ? NULL : nodes_of(jobs);
	scope.key = key;
	scope.nodes = nodes;
	hosts = nodes_names(common->nodes);
	scope.hosts = hosts;
	if (one)
		scope.label = json_string_value(json_object_get(json_array_get(jobs, 0), "label"));
	scan = inventory_scan(&scope);
	json_array_foreach(jobs, i, job)
		add_to_job(scope.levels, scan, job, window);
	json_decref(scan);
	json_decref(nodes);
	json_decref(hosts);
	image_key_destroy(key);
}

/* ------------------------------------------------------------------ doctor */

static const char *advice_for(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -ENODEV:
		return "mount its file system, or make the directory";
	case -EROFS:
		return "remount it, or take the level out of the configuration";
	case -ENOTUNIQ:
		return "give each node a name of its own";
	case -ESTALE:
		return "mount the right file system; if this is the new one, remove the file that "
		       "remembers the old";
	case -EACCES:
	case -EPERM:
		return "it has to be root's, mode 0700 or 0755, and root has to be able to write "
		       "there";
	case -EKEYREJECTED:
		return "all nodes need the same key";
	case -ERANGE:
		return "add nodes to the hosts file, or choose a smaller K+M";
	default:
		return "generations are not copied there meanwhile";
	}
}

static const char *levels_report_remark(const struct common *common,
					const struct level_config *conf)
{
	struct stat l1, there;

	/* a failure of that file system loses both copies */
	if (stat(common->config.image_dir, &l1) || stat(level_config_dir(conf), &there) ||
	    l1.st_dev != there.st_dev)
		return "";
	return ", on the file system of image_dir";
}

static json_t *levels_report_check_level(const struct common *common,
					 const struct level_config *conf,
					 const struct image_key *key)
{
	const struct level_user user = {
		.node = common->config.node, .key = key, .state_dir = common->config.state_dir,
	};
	struct ckpt_error error = {};
	struct level_space space;
	struct level *level;
	int err;

	if (level_config_is_group(conf) && !common->config.store)
		return json_pack("{s:b, s:o, s:s}", "ok", 0, "found",
				 json_sprintf("%s: this node has no store, so it keeps no parity "
					      "and no other node can get its images",
					      conf->name),
				 "advice", "set store = DIRECTORY in ckptd.conf, on all nodes");
	err = level_config_open(conf, &user, &level, &error);
	if (!err) {
		err = level_space(level, &space, &error);
		level_close(level);
	}
	if (err == -EBUSY)
		return json_pack("{s:b, s:o}", "ok", 1, "found",
				 json_sprintf("%s: %s, in use", conf->name, conf->place));
	if (err)
		return json_pack("{s:b, s:o, s:s}", "ok", 0, "found",
				 json_sprintf("%s: %s", conf->name, error.text), "advice",
				 advice_for(err));
	return json_pack("{s:b, s:o}", "ok", 1, "found",
			 json_sprintf("%s: %s, %llu MiB free%s", conf->name, conf->place,
				      (unsigned long long)space.free >> 20,
				      levels_report_remark(common, conf)));
}

void levels_report_check(const struct common *common, json_t *checks)
{
	const struct level_configs *levels = &common->config.levels;
	struct image_key *key = NULL;
	struct ckpt_error error;
	unsigned int t;

	/* Without a key nothing is copied, and the check of the key reports that. */
	if (!levels->nr || image_key_load(common->config.key, &key, &error))
		return;
	for (t = 0; t < levels->nr; t++) {
		json_t *row = levels_report_check_level(common, &levels->conf[t], key);

		json_object_set_new(row, "check", json_string("level"));
		json_array_append_new(checks, row);
	}
	image_key_destroy(key);
}
