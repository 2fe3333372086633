// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan of a recovery; see recovery.h.
 *
 * Owns the way from question to answer: the levels are asked (inventory), the survey makes a
 * topology of it, the lost nodes are taken out, choose_generation() chooses, and the topology says
 * why.
 */
#include "supervisor/recover/recovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/outcome.h"
#include "image/key.h"
#include "supervisor/net/nodes.h"
#include "supervisor/recover/choose.h"
#include "supervisor/recover/survey.h"
#include "supervisor/storage/inventory.h"

static const char *recovery_level_name(const struct recovery_options *o, unsigned int level)
{
	return level ? o->common->config.levels.conf[level - 1].name : LEVEL_CONFIG_L1;
}

/* ------------------------------------------------------------------- describe */

static json_t *recovery_group(const struct recovery_options *o, const struct topology *t,
			  const struct topology_group *group)
{
	int level = choose_level(topology_working(t, group));
	json_t *levels = json_array(), *json;
	char why[TOPOLOGY_WHY_MAX];
	unsigned int n;

	for (n = 0; n < t->nr_levels; n++) {
		topology_why(t, group, n, why, sizeof(why));
		json = json_pack("{s:s, s:b}", "level", recovery_level_name(o, n), "works",
				 !why[0]);
		if (why[0])
			json_object_set_new(json, "why", json_string(why));
		json_array_append_new(levels, json);
	}
	json = json_pack("{s:i, s:s, s:o}", "part", group->part, "node",
			 t->nodes[group->node].name, "levels", levels);
	if (level >= 0)
		json_object_set_new(json, "level",
				    json_string(recovery_level_name(o, (unsigned int)level)));
	return json;
}

/* The groups of @g; @missing: only those for which no level works. */
static json_t *recovery_groups(const struct recovery_options *o, const struct topology *t,
			   const struct topology_generation *g, bool missing)
{
	json_t *groups = json_array();
	unsigned int i;

	for (i = 0; i < g->nr_groups; i++) {
		if (!missing || !topology_working(t, &g->groups[i]))
			json_array_append_new(groups, recovery_group(o, t, &g->groups[i]));
	}
	return groups;
}

static int recovery_newest_first(const void *a, const void *b)
{
	const struct topology_generation *x = a, *y = b;

	return x->number > y->number ? -1 : x->number < y->number;
}

/* The generations that are newer than @number, and why they are not taken. */
static json_t *recovery_passed(const struct recovery_options *o, const struct topology *t,
			       int64_t number)
{
	json_t *passed = json_array(), *row;
	unsigned int i;

	for (i = 0; i < t->nr_generations; i++) {
		const struct topology_generation *g = &t->generations[i];

		if (g->number <= number)
			continue;
		row = json_pack("{s:I}", "generation", (json_int_t)g->number);
		if (g->why[0])
			json_object_set_new(row, "why", json_string(g->why));
		else
			json_object_set_new(row, "groups", recovery_groups(o, t, g, true));
		json_array_append_new(passed, row);
	}
	return passed;
}

/* --------------------------------------------------------------------- decide */

/* The index of the chosen generation of @t, or negative errno. */
static int recovery_choose(const struct topology *t)
{
	unsigned int i, k, nr = t->nr_generations;
	_cleanup_free_ struct choose_row *table = calloc(nr + 1, sizeof(*table));
	unsigned int *working;
	int chosen = table ? 0 : -ENOMEM;

	for (i = 0; i < nr && !chosen; i++) {
		const struct topology_generation *g = &t->generations[i];

		working = calloc(g->nr_groups + 1, sizeof(*working));
		if (!working)
			chosen = -ENOMEM;
		for (k = 0; working && k < g->nr_groups; k++)
			working[k] = topology_working(t, &g->groups[k]);
		table[i] = (struct choose_row) { g->number, g->nr_groups, working };
	}
	if (!chosen)
		chosen = choose_generation(table, nr);
	for (i = 0; table && i < nr; i++)
		free((void *)table[i].working);
	return chosen;
}

/* Take the lost nodes out. NULL, or an outcome: nobody knows one of them. */
static json_t *recovery_lose(const struct recovery_options *o, struct topology *t)
{
	json_t *hosts = nodes_names(o->common->nodes), *name, *outcome = NULL;
	size_t i;

	json_array_foreach(o->lost, i, name) {
		const char *node = json_string_value(name);

		if (topology_lose(t, node) && !json_object_get(hosts, node) && !outcome)
			outcome = outcome_error(-EINVAL,
						"node %.63s is neither in the hosts file nor has "
						"it any image of job %lld: see ckptctl nodes",
						node, (long long)o->job);
	}
	json_decref(hosts);
	return outcome;
}

static json_t *recovery_answer(const struct recovery_options *o, struct topology *t)
{
	const struct topology_generation *g;
	json_t *outcome, *lost;
	int chosen;

	/* as the answer lists them; choose_generation() wants no order */
	if (t->nr_generations)
		qsort(t->generations, t->nr_generations, sizeof(*t->generations),
		      recovery_newest_first);
	chosen = recovery_choose(t);
	if (chosen >= 0) {
		g = &t->generations[chosen];
		lost = o->lost ? json_incref((json_t *)o->lost) : json_array();
		return outcome_ok(json_pack("{s:I, s:o, s:I, s:o, s:o}", "job", (json_int_t)o->job,
					    "lost", lost, "generation", (json_int_t)g->number,
					    "groups", recovery_groups(o, t, g, false), "passed",
					    recovery_passed(o, t, g->number)));
	}
	if (chosen != -ENODATA)
		return outcome_error(chosen, "%s", strerror(-chosen));
	outcome = outcome_error(-ENODATA, t->nr_generations ?
				"job %lld: no generation is left that all its nodes can provide" :
				"job %lld has no generation to recover from", (long long)o->job);
	json_object_set_new(json_object_get(outcome, "error"), "passed", recovery_passed(o, t, 0));
	return outcome;
}

json_t *recovery_plan(const struct recovery_options *o)
{
	const struct common *common = o->common;
	json_t *hosts = nodes_names(common->nodes), *scan, *outcome = NULL;
	struct inventory_scope scope = {
		.levels = &common->config.levels, .node = common->config.node,
		.state_dir = common->config.state_dir, .label = o->label, .hosts = hosts,
	};
	struct survey survey = {
		.catalog = &common->catalog, .levels = &common->config.levels,
		.node = common->config.node, .shared = common->config.image_dir_shared,
		.job = o->job, .label = o->label, .tombstones = o->tombstones, .nodes = o->nodes,
		.since = o->since, .silent = o->silent,
	};
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	struct topology topology;
	int err = image_key_load(common->config.key, &key, &error);

	if (err) {
		json_decref(hosts);
		return outcome_error(err, "%s", error.text);
	}
	scope.key = key;
	scan = inventory_scan(&scope);
	survey.scan = scan;
	err = survey_make(&survey, &topology);
	if (err)
		outcome = outcome_error(err, "%s", strerror(-err));
	if (!outcome)
		outcome = recovery_lose(o, &topology);
	if (!outcome)
		outcome = recovery_answer(o, &topology);
	topology_done(&topology);
	json_decref(scan);
	json_decref(hosts);
	image_key_destroy(key);
	return outcome;
}
