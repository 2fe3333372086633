// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fetch in a worker; see fetching.h.
 *
 * Owns the worker of one fetch, and nothing after ops->ended(). The flusher is held except for
 * a dry run: its worker reads images of L1 that the fetch may replace, and a job that somebody
 * waits for comes before copies that nobody waits for. The flusher is not held for a user's job
 * of which L1 has no record: requests for jobs that do not exist must not stop all flushes.
 */
#include "supervisor/auto/fetching.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/storage/fetch.h"
#include "supervisor/job/jobs.h"
#include "supervisor/net/nodes.h"
#include "base/outcome.h"
#include "supervisor/auto/flusher.h"
#include "supervisor/control/worker.h"

struct fetching {
	struct common *common;
	struct worker *worker;
	struct fetching_options options;
	char label[64];		/* of the job; "": L1 has no record of it */
	json_t *tombstones;	/* of the job's record at the start of the fetch */
	const struct fetching_ops *ops;
	void *arg;
	bool holds;		/* this fetch holds the flusher */
};

bool fetching_is_on(const struct common *common)
{
	return common->config.levels.nr > 0 || !common->config.image_dir_shared;
}

static void fetching_report(uint64_t done, uint64_t total, void *arg)
{
	const struct engine_progress progress = { .phase = "fetch", .done = done, .total = total };

	channel_report_progress(&progress, arg);
}

static json_t *fetching_run(struct channel_reporter *reporter, void *arg)
{
	const struct fetching *g = arg;
	const struct common *common = g->common;
	json_t *hosts = nodes_names(common->nodes), *outcome;
	const struct fetch fetch = {
		.catalog = &common->catalog, .levels = &common->config.levels,
		.node = common->config.node, .job = g->options.id,
		.label = g->label[0] ? g->label : NULL, .generation = g->options.generation,
		.deep = g->options.deep, .dry_run = g->options.dry_run, .uid = g->options.uid,
		.hosts = hosts, .tombstones = g->tombstones, .parts = g->options.parts,
		.ranks = g->options.ranks, .home = g->options.home, .of_run = g->options.of_run,
		.state_dir = common->config.state_dir, .site = &common->site,
		.progress = fetching_report, .arg = reporter,
	};

	outcome = fetch_run(&fetch);
	json_decref(hosts);
	return outcome;
}

static void fetching_on_progress(json_t *progress, void *arg)
{
	const struct fetching *g = arg;

	if (g->ops->progress)
		g->ops->progress(progress, g->arg);
}

static void fetching_on_outcome(json_t *outcome, void *arg)
{
	struct fetching *g = arg;
	const struct fetching_ops *fetching_ops = g->ops;
	const struct log *log = &g->common->log;
	void *fn_arg = g->arg;
	const json_t *said = json_object_get(outcome, outcome_is_ok(outcome) ? "result" : "error");
	const json_t *step;
	size_t i;

	if (!g->options.dry_run)
		flusher_changed(g->options.flusher, g->label);
	if (g->holds)
		flusher_release(g->options.flusher);
	json_array_foreach(json_object_get(said, "steps"), i, step)
		log_warning(log, "job %lld: %s", (long long)g->options.id, json_string_value(step));
	json_decref(g->tombstones);
	free(g);
	fetching_ops->ended(outcome, fn_arg);
}

static const struct channel_ops ops = { fetching_on_progress, fetching_on_outcome };

static const struct worker_kind fetching_work = {
	.name = "ckptd-fetch",
	.run = fetching_run,
	.killed = "images that it had fetched by then stay",
};

static int fetching_begin(struct fetching *g)
{
	const struct worker_spec spec = { .kind = &fetching_work, .arg = g };

	return worker_start(&g->common->workers, &spec, &ops, g, &g->worker);
}

static void fetching_on_held(void *arg)
{
	struct fetching *g = arg;
	int err = fetching_begin(g);

	if (err)
		fetching_on_outcome(outcome_error(err, "no worker: %s", strerror(-err)), g);
}

int fetching_start(struct common *common, const struct fetching_options *options,
		   const struct fetching_ops *fetching_ops, void *arg)
{
	struct fetching *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	*g = (struct fetching) { .common = common, .options = *options, .ops = fetching_ops,
		.arg = arg };
	if (options->job) {
		job_label(options->job, g->label);
		g->tombstones = json_incref(options->job->record.tombstones);
	}
	g->options.job = NULL;
	/* A dry run only looks, so the flusher may run on; for users' unknown jobs, see above. */
	g->holds = !options->dry_run && (options->job || options->uid == 0);
	if (g->holds && !flusher_hold(options->flusher, fetching_on_held, g))
		return 0;
	err = fetching_begin(g);
	if (err) {
		if (g->holds)
			flusher_release(options->flusher);
		json_decref(g->tombstones);
		free(g);
	}
	return err;
}
