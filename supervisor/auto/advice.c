// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice on how often to take a checkpoint of a job; see advice.h.
 *
 * Medians, not means: one checkpoint that met a full disk is no reason for another interval.
 * Checkpoints that kept the job stopped until all was written (--kill, --stop-and-copy) are not
 * counted: they say nothing about the cost of one that the job runs through.
 */
#include "supervisor/auto/advice.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "supervisor/auto/interval.h"
#include "base/outcome.h"

#define NS		1e9
#define COST_MIN	0.001	/* seconds; clocks measure nothing below */

/* A guess: page tables are copied at 20 ms for each GiB, and pages written at 200 MB/s. */
#define GUESS_PAUSE	0.01
#define GUESS_PER_BYTE	(0.02 / 1073741824.0)
#define GUESS_SPEED	200e6

static int advice_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double advice_median(double *values, size_t n)
{
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), advice_compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The figure @name of a row of the history; 0 if the row has none. */
static double advice_number(const json_t *row, const char *name)
{
	return (double)json_integer_value(json_object_get(row, name));
}

static double blocked_ns(const json_t *row)
{
	return advice_number(row, "pause_ns") + advice_number(row, "quiesce_ns");
}

/* Time of writing after the pause. A row without a total gets the sum of its longest parts. */
static double background_ns(const json_t *row)
{
	double rest;

	if (!json_object_get(row, "total_ns"))
		return advice_number(row, "pages_ns") + advice_number(row, "contents_ns") +
		       advice_number(row, "sync_ns");
	rest = advice_number(row, "total_ns") - advice_number(row, "pause_ns");
	return rest > 0 ? rest : 0;
}

static bool is_checkpoint(const json_t *row)
{
	return json_object_get(row, "generation") && !json_object_get(row, "level") &&
	       json_object_get(row, "pause_ns");
}

/* A row of an earlier version has no "restore_ns", only the engine's time, which is too little. */
static bool is_restart(const json_t *row)
{
	return json_object_get(row, "restart") && json_object_get(row, "restore_ns");
}

static bool stood_still(const json_t *row)
{
	return json_is_true(json_object_get(row, "killed")) ||
	       json_is_true(json_object_get(row, "in_place"));
}

bool advice_measure(const json_t *rows, struct advice_costs *ret_costs)
{
	double blocked[ADVICE_RECENT], background[ADVICE_RECENT], restart[ADVICE_RECENT];
	struct advice_costs costs = { 0 };
	size_t i = json_array_size(rows);

	while (i-- > 0) {
		const json_t *row = json_array_get(rows, i);

		if (is_restart(row) && costs.restarts < ADVICE_RECENT)
			restart[costs.restarts++] = advice_number(row, "total_ns");
		if (!is_checkpoint(row) || costs.checkpoints == ADVICE_RECENT)
			continue;
		if (stood_still(row)) {
			costs.left_out++;
			continue;
		}
		blocked[costs.checkpoints] = blocked_ns(row);
		background[costs.checkpoints++] = background_ns(row);
	}
	costs.blocked = advice_median(blocked, costs.checkpoints) / NS;
	costs.background = advice_median(background, costs.checkpoints) / NS;
	costs.restart = costs.restarts ? advice_median(restart, costs.restarts) / NS :
			costs.blocked + costs.background;
	*ret_costs = costs;
	return costs.checkpoints;
}

void advice_guess(uint64_t bytes, struct advice_costs *ret_costs)
{
	*ret_costs = (struct advice_costs) {
		.blocked = GUESS_PAUSE + (double)bytes * GUESS_PER_BYTE,
		.background = (double)bytes / GUESS_SPEED,
	};
	ret_costs->restart = ret_costs->blocked + ret_costs->background;
}

static double mtbf_of(const struct advice_rates *rates)
{
	unsigned int nodes = rates->nodes ? rates->nodes : 1;

	return rates->mtbf_ms ? (double)rates->mtbf_ms / 1e3 :
	       (double)rates->node_mtbf_ms / 1e3 / nodes;
}

static struct interval_costs formula_costs(const struct advice_costs *costs,
					   const struct advice_rates *rates)
{
	double cost = costs->blocked + costs->background * rates->slowdown / 100;

	return (struct interval_costs) {
		.cost = fmax(cost, COST_MIN),
		/* Two checkpoints never run at once. */
		.least = costs->background,
		/* An image that is being written during a failure is lost, too. */
		.restart = costs->restart + costs->background,
		.mtbf = mtbf_of(rates),
	};
}

static int64_t advice_milliseconds(double seconds)
{
	return (int64_t)llround(fmin(seconds * 1e3, (double)DURATION_MAX_MS));
}

int advice_interval(const struct advice_costs *costs, const struct advice_rates *rates,
		    int64_t *ret_ms, const char **ret_why)
{
	struct interval_costs c = formula_costs(costs, rates);
	struct interval_advice advice;
	int err = interval_advise(&c, &advice, ret_why);

	if (!err)
		*ret_ms = advice_milliseconds(advice.interval + costs->blocked);
	return err;
}

/* ---------------------------------------------------------------- levels */

/* The median duration of flushes to level @name; false: the history has none. */
static bool measure_level(const json_t *rows, const char *name, double *ret_seconds)
{
	double total[ADVICE_RECENT];
	size_t n = 0, i = json_array_size(rows);

	while (i-- > 0 && n < ADVICE_RECENT) {
		const json_t *row = json_array_get(rows, i);
		const char *level = json_string_value(json_object_get(row, "level"));

		if (level && !strcmp(level, name))
			total[n++] = advice_number(row, "total_ns");
	}
	*ret_seconds = advice_median(total, n) / NS;
	return n;
}

/* Decode level @i of the request, with its cost. NULL, or an outcome: the cost is not known. */
static json_t *take_level(const json_t *asked, unsigned int i, const json_t *rows,
			  const struct interval_costs *costs, const struct advice_rates *rates,
			  struct interval_level *ret_level)
{
	const char *name = json_string_value(json_object_get(asked, "name"));
	double took;

	ret_level->mtbf = advice_number(asked, "mtbf_ms") / 1e3;
	ret_level->least = 0;
	if (json_object_get(asked, "cost_ns")) {
		ret_level->cost = advice_number(asked, "cost_ns") / NS;
	} else if (!i) {
		ret_level->cost = costs->cost;
		ret_level->least = costs->least;
	} else if (name && measure_level(rows, name, &took)) {
		ret_level->cost = fmax(took * rates->slowdown / 100, COST_MIN);
		ret_level->least = took;
	} else {
		return outcome_error(-ENODATA,
				     "what level %s costs was never measured: say it, as in "
				     "--level %s=MTBF,COST",
				     name ? name : "?", name ? name : "?");
	}
	return NULL;
}

static json_t *describe_levels(const json_t *asked, const struct interval_level *levels,
			       const struct interval_levels *how)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < json_array_size(asked); i++) {
		json_t *row = json_pack("{s:O, s:I, s:I, s:I}", "name",
					json_object_get(json_array_get(asked, i), "name"),
					"mtbf_ms", (json_int_t)advice_milliseconds(levels[i].mtbf),
					"cost_ns", (json_int_t)(levels[i].cost * NS),
					"every", (json_int_t)how->every[i]);

		if (how->every[i])
			json_object_set_new(row, "interval_ms",
					    json_integer(advice_milliseconds(how->interval *
									     how->every[i])));
		json_array_append_new(list, row);
	}
	return list;
}

/* Add the advice on levels to @result. NULL, or an outcome: there is no such advice. */
static json_t *add_levels(json_t *result, const json_t *rows, const struct interval_costs *costs,
			  const struct advice_rates *rates)
{
	struct interval_level levels[INTERVAL_LEVELS_MAX];
	unsigned int i, nr = (unsigned int)json_array_size(rates->levels);
	struct interval_levels how;
	const char *why = NULL;
	json_t *outcome = NULL;
	int err;

	if (!nr)
		return NULL;
	if (nr > INTERVAL_LEVELS_MAX)
		return outcome_error(-E2BIG, "at most %d levels", INTERVAL_LEVELS_MAX);
	for (i = 0; i < nr && !outcome; i++)
		outcome = take_level(json_array_get(rates->levels, i), i, rows, costs, rates,
				     &levels[i]);
	if (outcome)
		return outcome;
	err = interval_multilevel(levels, nr, &how, &why);
	if (err)
		return outcome_error(err, "levels: %s", why);
	json_object_set_new(result, "levels", describe_levels(rates->levels, levels, &how));
	json_object_set_new(result, "interval_ms", json_integer(advice_milliseconds(how.interval)));
	json_object_set_new(result, "formula", json_string("multilevel"));
	/* A first order estimate, which is negative where overheads are large. */
	json_object_set_new(result, "efficiency", json_real(fmax(1 - how.overhead, 0)));
	return NULL;
}

/* ---------------------------------------------------------------- outcome */

static json_t *nothing_measured(int64_t job, const struct advice_costs *costs)
{
	if (costs->left_out)
		return outcome_error(-ENODATA,
				     "job %lld was only checkpointed with --kill or "
				     "--stop-and-copy, which says nothing about one that it runs "
				     "through: take one (ckptctl checkpoint %lld)",
				     (long long)job, (long long)job);
	return outcome_error(-ENODATA,
			     "job %lld has no checkpoint yet, so what one costs is not known: take "
			     "one (ckptctl checkpoint %lld), or let ckptd begin with a guess "
			     "(ckptctl auto %lld on)",
			     (long long)job, (long long)job, (long long)job);
}

static json_t *based_on(const struct advice_costs *costs, const struct interval_costs *c,
			const struct advice_rates *rates)
{
	return json_pack("{s:i, s:i, s:I, s:I, s:i, s:I, s:i, s:I, s:b}",
			 "checkpoints", (int)costs->checkpoints, "left_out", (int)costs->left_out,
			 "blocked_ns", (json_int_t)(costs->blocked * NS),
			 "background_ns", (json_int_t)(costs->background * NS),
			 "slowdown_percent", (int)rates->slowdown,
			 "cost_ns", (json_int_t)(c->cost * NS),
			 "restarts", (int)costs->restarts,
			 "restart_ns", (json_int_t)(costs->restart * NS),
			 "restart_assumed", !costs->restarts);
}

/* Add to @result whether a checkpoint that ends the job fits into the grace time. */
static void add_grace(json_t *result, const struct advice_costs *costs,
		      const struct advice_rates *rates)
{
	int64_t needs;

	if (!rates->grace_ms)
		return;
	needs = ADVICE_LOOK_MS + advice_milliseconds(costs->blocked + costs->background);
	json_object_set_new(result, "grace",
			    json_pack("{s:I, s:I, s:b}", "grace_ms", (json_int_t)rates->grace_ms,
				      "needs_ms", (json_int_t)needs, "fits",
				      needs <= rates->grace_ms));
}

json_t *advice_make(int64_t job, const json_t *rows, const struct advice_rates *rates)
{
	struct interval_advice advice;
	struct advice_costs costs;
	struct interval_costs c;
	const char *why = NULL;
	json_t *result, *outcome;
	int err;

	if (!advice_measure(rows, &costs))
		return nothing_measured(job, &costs);
	c = formula_costs(&costs, rates);
	err = interval_advise(&c, &advice, &why);
	if (err)
		return outcome_error(err, "no interval for job %lld: %s", (long long)job, why);
	result = json_pack("{s:I, s:I, s:s, s:b, s:b, s:I, s:I, s:f, s:I, s:s, s:i, s:o}", "job",
			   (json_int_t)job, "interval_ms",
			   (json_int_t)advice_milliseconds(advice.interval), "formula", "daly",
			   "valid", advice.valid, "limited", advice.limited, "daly_ms",
			   (json_int_t)advice_milliseconds(advice.daly), "young_ms",
			   (json_int_t)advice_milliseconds(advice.young), "efficiency",
			   advice.efficiency, "mtbf_ms", (json_int_t)advice_milliseconds(c.mtbf),
			   "mtbf_from", rates->from, "nodes",
			   (int)(rates->nodes ? rates->nodes : 1), "based_on",
			   based_on(&costs, &c, rates));
	add_grace(result, &costs, rates);
	outcome = add_levels(result, rows, &c, rates);
	if (!outcome)
		return outcome_ok(result);
	json_decref(result);
	return outcome;
}

json_t *advice_medians(const json_t *rows)
{
	double *values = calloc(json_array_size(rows) + 1, sizeof(*values));
	json_t *names = json_object(), *medians = json_object(), *value;
	const char *name;
	size_t i, n;

	for (i = 0; i < json_array_size(rows); i++)
		json_object_update_missing(names, json_array_get(rows, i));
	json_object_foreach(names, name, value) {
		if (!values || !json_is_integer(value) || !strcmp(name, "taken") ||
		    !strcmp(name, "generation"))
			continue;
		for (i = n = 0; i < json_array_size(rows); i++) {
			const json_t *one = json_object_get(json_array_get(rows, i), name);

			if (json_is_integer(one))
				values[n++] = (double)json_integer_value(one);
		}
		json_object_set_new(medians, name,
				    json_integer((json_int_t)advice_median(values, n)));
	}
	json_decref(names);
	free(values);
	return medians;
}
