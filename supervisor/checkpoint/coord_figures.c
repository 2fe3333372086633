// SPDX-License-Identifier: GPL-2.0-only
/*
 * The costs of a checkpoint over several nodes, for the answer to its request: our own dump
 * knows only the costs of this node.
 *
 * Each node's figures are in the manifest of its image, which is in the catalog when the
 * generation is committed; a worker reads them. If the worker fails, the generation is valid
 * all the same, and the answer has a remark.
 */
#include "supervisor/checkpoint/coord_driver_priv.h"

#include <string.h>

#include "supervisor/catalog/generation.h"
#include "supervisor/control/worker.h"

static json_t *figures_run(struct channel_reporter *reporter, void *arg)
{
	const struct coord_driver *d = arg;
	struct op_env env = { .key = d->common->config.key,
			      .secret = d->common->config.secret };
	char label[64];

	return generation_describe(&env, &d->common->catalog, d->job->id,
				   (int64_t)d->id.generation, job_label(d->job, label));
}

static void coord_figures_on_progress(json_t *progress, void *arg)
{
}

/* The longest silent_ns of all nodes: from the order to be silent until a node's ranks were. */
static int64_t longest_silence(const json_t *whole)
{
	const json_t *part, *parts = json_object_get(whole, "parts");
	int64_t longest = 0, one;
	size_t i;

	json_array_foreach(parts, i, part) {
		one = json_integer_value(
			json_object_get(json_object_get(part, "note"), "silent_ns"));
		longest = one > longest ? one : longest;
	}
	return longest;
}

void driver_add_thaw(const struct coord_driver *d, json_t *result, const json_t *engine)
{
	json_int_t took = json_integer_value(json_object_get(engine, "thaw_ns"));

	if (!driver_is_kill(d) && d->thawed_at)
		json_object_set_new(result, "thaw_ns",
				    json_integer((json_int_t)(d->thawed_at - d->thaw_at) + took));
}

static void coord_figures_merge(struct coord_driver *d, json_t *result, json_t *whole)
{
	static const char *const names[] = {
		"pause_ns", "freeze_ns", "collect_ns", "clone_ns", "pages_ns", "contents_ns",
		"sync_ns", "bytes_mapped", "bytes_raw", "bytes_stored", "pages_data", "pages_zero",
		"pages_shared", "pages_same", "pages_excluded", "pages_untouched", "pages_file",
		"processes", "threads", "nodes", "parts",
	};
	char *dir = catalog_image_dir(&d->common->catalog, d->job->id, (int64_t)d->id.generation);
	size_t i;

	/* A figure that the whole does not have is dropped: the home's own would mislead. */
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_object_del(result, names[i]);
		json_object_set(result, names[i], json_object_get(whole, names[i]));
	}
	json_object_set_new(result, "dir", json_string(dir));
	json_object_set_new(result, "quiesce_ns",
			    json_integer((json_int_t)(d->cut_at - d->asked_at) +
					 longest_silence(whole)));
	driver_add_thaw(d, result, whole);
	free(dir);
}

static void on_figures(json_t *outcome, void *arg)
{
	struct coord_driver *d = arg;
	json_t *result = json_object_get(d->dumped, "result");
	const char *text = json_string_value(json_object_get(json_object_get(outcome, "error"),
							     "text"));

	d->reading = NULL;
	if (outcome_is_ok(outcome))
		coord_figures_merge(d, result, json_object_get(outcome, "result"));
	else
		json_object_set_new(result, "remark",
				    json_sprintf("the figures are those of node %s alone: %s",
						 d->common->config.node, text ? text : "?"));
	json_decref(outcome);
	driver_answer(d, json_incref(d->dumped));
	if (d->closing)
		coord_driver_close(d);
}

static const struct channel_ops figures_ops = { coord_figures_on_progress, on_figures };

static const struct worker_kind figures_work = {
	.name = "ckptd-figures",
	.run = figures_run,
};

int driver_read_figures(struct coord_driver *d)
{
	const struct worker_spec spec = { .kind = &figures_work, .arg = d };

	return worker_start(&d->common->workers, &spec, &figures_ops, d, &d->reading);
}
