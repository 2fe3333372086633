// SPDX-License-Identifier: GPL-2.0-only
/*
 * The failure topology of a job; see topology.h.
 *
 * Owns the rule by which a copy works, and its explanation. Knows no kind of level: a kind is a set
 * of nodes and the number of them that must be left.
 */
#include "supervisor/recover/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ making */

static int topology_find(const struct topology *t, const char *name)
{
	unsigned int i;

	for (i = 0; i < t->nr_nodes; i++) {
		if (!strcmp(t->nodes[i].name, name))
			return (int)i;
	}
	return -ENOENT;
}

int topology_node(struct topology *t, const char *name)
{
	int at = topology_find(t, name);
	struct topology_node *more;
	char *copy;

	if (at >= 0)
		return at;
	more = reallocarray(t->nodes, t->nr_nodes + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->nodes = more;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	t->nodes[t->nr_nodes] = (struct topology_node) { .name = copy };
	return (int)t->nr_nodes++;
}

int topology_lose(struct topology *t, const char *name)
{
	int at = topology_find(t, name);

	if (at < 0)
		return at;
	t->nodes[at].lost = true;
	return 0;
}

struct topology_generation *topology_add(struct topology *t, int64_t number,
					 unsigned int nr_groups)
{
	struct topology_group *groups = calloc(nr_groups ? nr_groups : 1, sizeof(*groups));
	struct topology_generation *more;

	more = groups ? reallocarray(t->generations, t->nr_generations + 1, sizeof(*more)) : NULL;
	if (!more) {
		free(groups);
		return NULL;
	}
	t->generations = more;
	more += t->nr_generations++;
	*more = (struct topology_generation) {
		.number = number, .groups = groups, .nr_groups = nr_groups,
	};
	return more;
}

int topology_hold(struct topology_copy *copy, unsigned int node)
{
	unsigned int i, *more;

	for (i = 0; i < copy->nr_nodes; i++) {
		if (copy->nodes[i] == node)
			return 0;
	}
	more = reallocarray(copy->nodes, copy->nr_nodes + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	copy->nodes = more;
	copy->nodes[copy->nr_nodes++] = node;
	return 0;
}

void topology_done(struct topology *t)
{
	unsigned int i, k, n;

	for (i = 0; i < t->nr_generations; i++) {
		struct topology_generation *g = &t->generations[i];

		for (k = 0; k < g->nr_groups; k++) {
			for (n = 0; n < TOPOLOGY_LEVELS_MAX; n++)
				free(g->groups[k].copy[n].nodes);
		}
		free(g->groups);
	}
	for (i = 0; i < t->nr_nodes; i++)
		free(t->nodes[i].name);
	free(t->generations);
	free(t->nodes);
	*t = (struct topology) { 0 };
}

/* ----------------------------------------------------------------- deciding */

static unsigned int topology_left(const struct topology *t, const struct topology_copy *copy)
{
	unsigned int i, left = 0;

	for (i = 0; i < copy->nr_nodes; i++)
		left += !t->nodes[copy->nodes[i]].lost;
	return left;
}

static bool topology_works(const struct topology *t, const struct topology_copy *copy)
{
	return copy->held && topology_left(t, copy) >= copy->need;
}

unsigned int topology_working(const struct topology *t, const struct topology_group *group)
{
	unsigned int n, working = 0;

	for (n = 0; n < t->nr_levels; n++)
		working |= topology_works(t, &group->copy[n]) ? 1u << n : 0;
	return working;
}

/* The names of the lost nodes of @copy: "node n3 is lost", "nodes n3, n4 are lost". */
static void topology_name_lost(const struct topology *t, const struct topology_copy *copy,
			       char *buf, size_t size)
{
	unsigned int i, nr = copy->nr_nodes - topology_left(t, copy);
	const char *before = "";
	size_t len;

	snprintf(buf, size, nr > 1 ? "nodes " : "node ");
	for (i = 0; i < copy->nr_nodes; i++) {
		const struct topology_node *node = &t->nodes[copy->nodes[i]];

		len = strlen(buf);
		if (node->lost)
			snprintf(buf + len, size - len, "%s%s", before, node->name);
		before = node->lost ? ", " : before;
	}
	len = strlen(buf);
	snprintf(buf + len, size - len, nr > 1 ? " are lost" : " is lost");
}

const char *topology_why(const struct topology *t, const struct topology_group *group,
			 unsigned int level, char *buf, size_t size)
{
	const struct topology_copy *copy = &group->copy[level];
	unsigned int left = topology_left(t, copy);
	char lost[TOPOLOGY_WHY_MAX] = "";

	buf[0] = '\0';
	if (topology_works(t, copy))
		return buf;
	if (!copy->held) {
		snprintf(buf, size, "%s", copy->why[0] ? copy->why : "it is not there");
		return buf;
	}
	if (left < copy->nr_nodes)
		topology_name_lost(t, copy, lost, sizeof(lost));
	if (copy->nr_nodes > 1 || copy->need > 1)
		snprintf(buf, size, "%u of %u pieces are left, %u are needed%s%s", left,
			 copy->nr_nodes, copy->need, lost[0] ? ": " : "", lost);
	else
		snprintf(buf, size, "%s", lost);
	return buf;
}
