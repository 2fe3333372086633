// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests stats and interval: report what the checkpoints of a job have cost, and advise
 * how often to take one.
 *
 * The history (history.h) also has generations that were removed. For a generation that the
 * history lacks, the manifest gives most of the figures. A worker reads both.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/auto/advice.h"
#include "base/duration.h"
#include "supervisor/catalog/generation.h"
#include "supervisor/catalog/history.h"
#include "supervisor/catalog/window.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "base/outcome.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/control/worker.h"

struct stats {
	struct request *request;
	struct worker *worker;
	int64_t job;
	char label[64];
	json_t *generations;	/* the existing ones, in the window */
	struct window window;
	json_t *(*answer)(struct stats *stats, json_t *rows);	/* in the worker */
	struct advice_rates rates;	/* for the request interval */
	json_t *levels;
	json_t *l0;		/* job_l0_describe() */
};

/* ---------------------------------------------------------- in the worker */

/* The row of generation @n; NULL: none. */
static json_t *find_row(const json_t *rows, int64_t n)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!json_object_get(row, "level") &&
		    json_integer_value(json_object_get(row, "generation")) == n)
			return row;
	}
	return NULL;
}

/* The manifest's figures as a row; NULL if the manifest cannot be read. */
static json_t *row_of_manifest(const struct stats *s, int64_t n)
{
	const struct common *common = s->request->common;
	struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	json_t *outcome = generation_describe(&env, &common->catalog, s->job, n, s->label);
	const json_t *result = json_object_get(outcome, "result");
	const json_t *note = json_object_get(result, "note");
	json_t *row = NULL;

	if (result) {
		row = history_row(result, n,
				  json_integer_value(json_object_get(result, "created")));
		/*
		 * The manifest was written before a checkpoint with kill was over, and the killed
		 * job stood still until then: add that.
		 */
		history_complete(row, note);
	}
	json_decref(outcome);
	return row;
}

static int verb_stats_compare(const json_t *a, const json_t *b, const char *name)
{
	json_int_t x = json_integer_value(json_object_get(a, name));
	json_int_t y = json_integer_value(json_object_get(b, name));

	return (x > y) - (x < y);
}

static int verb_stats_by_generation(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int order = verb_stats_compare(x, y, "generation");

	return order ? order : verb_stats_compare(x, y, "taken");
}

static void verb_stats_sort(json_t *rows)
{
	size_t i, n = json_array_size(rows);
	json_t **items = calloc(n + 1, sizeof(*items));

	if (!items)
		return;
	for (i = 0; i < n; i++)
		items[i] = json_incref(json_array_get(rows, i));
	qsort(items, n, sizeof(*items), verb_stats_by_generation);
	json_array_clear(rows);
	for (i = 0; i < n; i++)
		json_array_append_new(rows, items[i]);
	free(items);
}

/* Rows of history and manifests; "kept" marks existing generations. Restarts come first. */
static json_t *all_rows(struct stats *s)
{
	json_t *rows = history_read(&s->request->common->catalog, s->job), *number, *row;
	size_t i;

	json_array_foreach(s->generations, i, number) {
		int64_t n = json_integer_value(number);

		row = json_incref(find_row(rows, n));
		if (!row) {
			row = row_of_manifest(s, n);
			if (row)
				json_array_append(rows, row);
		}
		if (row)
			json_object_set_new(row, "kept", json_true());
		json_decref(row);
	}
	verb_stats_sort(rows);
	return rows;
}

static json_t *stats_run(struct channel_reporter *reporter, void *arg)
{
	struct stats *s = arg;
	json_t *rows = all_rows(s);
	json_t *outcome = s->answer(s, rows);

	json_decref(rows);
	return outcome;
}

static json_t *answer_stats(struct stats *s, json_t *rows)
{
	json_t *checkpoints = json_array(), *restarts = json_array(), *levels = json_array();
	json_t *medians, *row;
	size_t i;

	json_array_foreach(rows, i, row)
		json_array_append(json_object_get(row, "level") ? levels :
				  json_object_get(row, "restart") ? restarts : checkpoints, row);
	window_cut(&s->window, checkpoints);
	medians = advice_medians(checkpoints);
	return outcome_ok(json_pack("{s:I, s:o, s:o, s:o, s:o, s:O*}", "job", (json_int_t)s->job,
				    "checkpoints", checkpoints, "medians", medians,
				    "restarts", restarts, "levels", levels, "l0", s->l0));
}

static json_t *answer_interval(struct stats *s, json_t *rows)
{
	return advice_make(s->job, rows, &s->rates);
}

/* ------------------------------------------------------------ in the daemon */

static void stats_free(struct stats *s)
{
	json_decref(s->generations);
	json_decref(s->levels);
	json_decref(s->l0);
	free(s);
}

static void verb_stats_on_no_progress(json_t *progress, void *arg)
{
}

static void verb_stats_on_answer(json_t *outcome, void *arg)
{
	struct stats *s = arg;

	request_answer(s->request, outcome);
	stats_free(s);
}

static const struct channel_ops ops = { verb_stats_on_no_progress, verb_stats_on_answer };

static struct stats *stats_new(struct request *request, const struct job *job,
			       const struct window *window)
{
	struct stats *s = calloc(1, sizeof(*s));
	size_t all;

	if (!s)
		return NULL;
	s->request = request;
	s->job = job->id;
	s->answer = answer_stats;
	job_label(job, s->label);
	job_l0_refresh(job->l0);
	s->l0 = job_l0_describe(job->l0);
	s->window = *window;
	s->generations = catalog_generations_in(&request->common->catalog, job->id, window, &all);
	return s;
}

static const struct worker_kind stats_work = {
	.name = "ckptd-stats",
	.run = stats_run,
};

static void verb_stats_start(struct stats *s)
{
	const struct worker_spec spec = { .kind = &stats_work, .arg = s };
	int err = worker_start(&s->request->common->workers, &spec, &ops, s, &s->worker);

	if (!err) {
		request_on_abandon(s->request, worker_on_abandon, s->worker);
		return;
	}
	request_answer(s->request, outcome_error(err, "no worker: %s", strerror(-err)));
	stats_free(s);
}

void verb_stats(struct request *request)
{
	json_int_t id, before, last;
	struct window window = { 0 };
	json_t *outcome = NULL;
	struct job *draft;
	const struct job *job = jobs_read_for(request, &draft, &outcome);
	struct stats *s = NULL;

	if (job && json_unpack(request->args, "{s:I, s?I, s?I !}", "job", &id, "before", &before,
			       "last", &last))
		outcome = outcome_usage("stats: bad arguments");
	if (job && !outcome)
		outcome = window_take(request->args, &window);
	if (job && !outcome)
		s = stats_new(request, job, &window);
	job_draft_free(draft);
	if (s)
		verb_stats_start(s);
	else
		request_answer(request, outcome);
}

/* NULL or an outcome. */
static json_t *verb_stats_check_levels(const json_t *levels)
{
	const json_t *level;
	size_t i;

	if (levels && !json_is_array(levels))
		return outcome_usage("interval: levels are a list");
	json_array_foreach(levels, i, level) {
		json_int_t mtbf = 0, cost = 1;
		const char *name;
		json_error_t why;

		if (json_unpack_ex((json_t *)level, &why, 0, "{s:s, s:I, s?I !}", "name", &name,
				   "mtbf_ms", &mtbf, "cost_ns", &cost))
			return outcome_usage("interval: levels: %s", why.text);
		if (mtbf <= 0 || mtbf > DURATION_MAX_MS || cost <= 0)
			return outcome_usage("interval: level %s: times have to be above 0",
					     name);
	}
	return NULL;
}

/* NULL or an outcome. */
static json_t *parse_interval(const struct request *request, const struct job *job,
			      struct stats *s)
{
	struct job_automatic rates = { 0 };
	json_t *own = json_object(), *levels = NULL, *outcome = NULL;
	json_int_t id, mtbf = 0, node_mtbf = 0, grace = 0;
	int slowdown = ADVICE_SLOWDOWN;
	json_error_t why;

	if (json_unpack_ex(request->args, &why, 0, "{s:I, s?I, s?I, s?i, s?I, s?o !}", "job",
			   &id, "mtbf_ms", &mtbf, "node_mtbf_ms", &node_mtbf, "slowdown",
			   &slowdown, "grace_ms", &grace, "levels", &levels))
		outcome = outcome_usage("interval: bad arguments: %s", why.text);
	else if (slowdown < 0 || slowdown > 100)
		outcome = outcome_usage("interval: a slowdown is between 0 and 100 percent");
	else if (grace < 0 || grace > DURATION_MAX_MS)
		outcome = outcome_usage("interval: a grace time is above 0");
	if (!outcome && json_object_get(request->args, "mtbf_ms"))
		json_object_set_new(own, "mtbf_ms", json_integer(mtbf));
	if (!outcome && json_object_get(request->args, "node_mtbf_ms"))
		json_object_set_new(own, "node_mtbf_ms", json_integer(node_mtbf));
	if (!outcome)
		outcome = schedule_parse(own, &rates);
	if (!outcome)
		outcome = verb_stats_check_levels(levels);
	if (!outcome) {
		schedule_rates(job, &rates, &s->rates);
		s->levels = json_incref(levels);
		s->rates.levels = s->levels;
		s->rates.slowdown = (unsigned int)slowdown;
		s->rates.grace_ms = grace;
		s->answer = answer_interval;
	}
	job_automatic_done(&rates);
	json_decref(own);
	return outcome;
}

void verb_interval(struct request *request)
{
	json_t *outcome = NULL;
	struct job *draft;
	const struct job *job = jobs_read_for(request, &draft, &outcome);
	const struct window whole = { 0 };
	struct stats *s = job ? stats_new(request, job, &whole) : NULL;

	if (s)
		outcome = parse_interval(request, job, s);
	job_draft_free(draft);
	if (s && !outcome) {
		verb_stats_start(s);
		return;
	}
	if (s)
		stats_free(s);
	request_answer(request, outcome);
}
