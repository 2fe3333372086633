// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups across failure domains: what holds for every number of nodes, every k + m and
 * every shape of the domains.
 */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "levels/groups.h"

#define NODES	400

struct cluster {
	struct levels_node nodes[NODES];
	char names[NODES][12], domains[NODES][12];
	unsigned int nr, largest, nr_domains;
};

/* @racks domains; @skew: the first one has that many nodes more */
static void cluster_init(struct cluster *c, unsigned int nr, unsigned int racks,
			 unsigned int skew)
{
	unsigned int i, count[NODES] = {};

	memset(c, 0, sizeof(*c));
	c->nr = nr;
	for (i = 0; i < nr; i++) {
		unsigned int rack = i < skew ? 0 : i % racks;

		snprintf(c->names[i], sizeof(c->names[i]), "n%u", i);
		snprintf(c->domains[i], sizeof(c->domains[i]), "r%u", rack);
		c->nodes[i] = (struct levels_node){ c->names[i], c->domains[i] };
		c->nr_domains += !count[rack]++;
		if (count[rack] > c->largest)
			c->largest = count[rack];
	}
}

static unsigned int pieces_in(const struct cluster *c, const struct levels_group *g,
			      unsigned int m, const char *domain)
{
	unsigned int i, n = 0;

	for (i = 0; i < g->nr_members; i++)
		n += !strcmp(c->nodes[g->members[i]].domain, domain);
	for (i = 0; i < m; i++)
		n += !strcmp(c->nodes[g->holders[i]].domain, domain);
	return n;
}

static void check_group(const struct cluster *c, const struct levels_grouping *gr,
			const struct levels_group *g, unsigned int k, unsigned int member[])
{
	bool seen[NODES] = {};
	unsigned int i, worst = 0;

	assert_true(g->nr_members >= 1 && g->nr_members <= k);
	assert_true(g->nr_members == c->nr / gr->nr_groups ||
		    g->nr_members == (c->nr + gr->nr_groups - 1) / gr->nr_groups);
	for (i = 0; i < g->nr_members; i++) {
		assert_false(seen[g->members[i]]);
		seen[g->members[i]] = true;
		member[g->members[i]]++;
	}
	for (i = 0; i < gr->m; i++) {
		assert_false(seen[g->holders[i]]);
		seen[g->holders[i]] = true;
	}
	for (i = 0; i < c->nr; i++) {
		unsigned int n = pieces_in(c, g, gr->m, c->nodes[i].domain);

		if (n > worst)
			worst = n;
	}
	assert_int_equal(g->worst, worst);
	/* where the domains allow it no two pieces share one */
	if (c->largest <= gr->nr_groups && c->nr_domains >= g->nr_members + gr->m)
		assert_int_equal(worst, 1);
}

static void check(const struct cluster *c, unsigned int k, unsigned int m)
{
	unsigned int i, j, member[NODES] = {}, load[NODES] = {}, most = 0;
	struct levels_grouping g;
	struct ckpt_error error;

	if (levels_groups(c->nodes, c->nr, k, m, &g, &error))
		fail_msg("%s", error.text);
	assert_int_equal(g.nr_groups, (c->nr + k - 1) / k);
	for (i = 0; i < g.nr_groups; i++) {
		check_group(c, &g, &g.groups[i], k, member);
		for (j = 0; j < m; j++)
			if (++load[g.groups[i].holders[j]] > most)
				most = load[g.groups[i].holders[j]];
	}
	for (i = 0; i < c->nr; i++)
		assert_int_equal(member[i], 1);
	/* with domains of a size no node holds much more than its share */
	if (c->largest * c->nr_domains == c->nr && c->nr_domains >= 2 * (k + m))
		assert_true(most <= 2 + 2 * (g.nr_groups * m + c->nr - 1) / c->nr);
	levels_groups_done(&g);
}

static void every_shape(void **state)
{
	static const unsigned int codes[][2] = {
		{ 1, 1 }, { 2, 1 }, { 4, 2 }, { 8, 2 }, { 8, 3 }, { 16, 4 },
	};
	struct cluster *c = malloc(sizeof(*c));
	unsigned int i, nr, racks;

	assert_non_null(c);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		unsigned int k = codes[i][0], m = codes[i][1];

		for (nr = k + m; nr <= k + m + 40; nr++)
			for (racks = 1; racks <= nr; racks += 1 + racks / 4) {
				cluster_init(c, nr, racks, 0);
				check(c, k, m);
				cluster_init(c, nr, racks, nr / 3);
				check(c, k, m);
			}
		cluster_init(c, NODES, 40, 0);
		check(c, k, m);
	}
	free(c);
}

/* The order in which nodes are named decides nothing. */
static void order_does_not_matter(void **state)
{
	struct cluster *c = malloc(sizeof(*c));
	struct levels_node turned[NODES];
	struct levels_grouping a, b;
	unsigned int i, j;

	assert_non_null(c);
	cluster_init(c, 50, 7, 9);
	for (i = 0; i < 50; i++)
		turned[i] = c->nodes[(i * 17 + 3) % 50];
	assert_int_equal(levels_groups(c->nodes, 50, 4, 2, &a, NULL), 0);
	assert_int_equal(levels_groups(turned, 50, 4, 2, &b, NULL), 0);
	assert_int_equal(a.nr_groups, b.nr_groups);
	for (i = 0; i < a.nr_groups; i++) {
		assert_int_equal(a.groups[i].nr_members, b.groups[i].nr_members);
		for (j = 0; j < a.groups[i].nr_members; j++)
			assert_string_equal(c->nodes[a.groups[i].members[j]].name,
					    turned[b.groups[i].members[j]].name);
		for (j = 0; j < 2; j++)
			assert_string_equal(c->nodes[a.groups[i].holders[j]].name,
					    turned[b.groups[i].holders[j]].name);
	}
	levels_groups_done(&a);
	levels_groups_done(&b);
	free(c);
}

/* Whichever m nodes are lost, no group loses more than m pieces; a rack of 8 neither. */
static void losses(void **state)
{
	struct cluster *c = malloc(sizeof(*c));
	struct levels_grouping g;
	unsigned int i;

	assert_non_null(c);
	cluster_init(c, 64, 8, 0);
	assert_int_equal(levels_groups(c->nodes, 64, 4, 2, &g, NULL), 0);
	for (i = 0; i < g.nr_groups; i++)
		assert_int_equal(g.groups[i].worst, 1);
	levels_groups_done(&g);
	/* two racks only: said, not hidden */
	cluster_init(c, 64, 2, 0);
	assert_int_equal(levels_groups(c->nodes, 64, 4, 2, &g, NULL), 0);
	for (i = 0; i < g.nr_groups; i++)
		assert_true(g.groups[i].worst > 2);
	levels_groups_done(&g);
	free(c);
}

static void refused(void **state)
{
	struct cluster *c = malloc(sizeof(*c));
	struct levels_grouping g;
	struct ckpt_error error;

	assert_non_null(c);
	cluster_init(c, 5, 5, 0);
	assert_int_equal(levels_groups(c->nodes, 5, 4, 2, &g, &error), -ERANGE);
	assert_string_equal(error.text, "groups of 4+2 need 6 nodes, there are 5");
	assert_int_equal(levels_groups(c->nodes, 0, 1, 1, &g, &error), -ERANGE);
	assert_int_equal(levels_groups(c->nodes, 5, 0, 2, &g, &error), -EINVAL);
	assert_int_equal(levels_groups(c->nodes, 5, 2, 0, &g, &error), -EINVAL);
	assert_int_equal(levels_groups(c->nodes, 5, 1000, 1, &g, &error), -EINVAL);
	c->nodes[3].name = "n1";
	assert_int_equal(levels_groups(c->nodes, 5, 2, 1, &g, &error), -EINVAL);
	assert_non_null(strstr(error.text, "n1"));
	c->nodes[3].name = "";
	assert_int_equal(levels_groups(c->nodes, 5, 2, 1, &g, &error), -EINVAL);
	/* a node without a domain is one */
	c->nodes[3] = (struct levels_node){ .name = "x" };
	assert_int_equal(levels_groups(c->nodes, 5, 2, 1, &g, &error), 0);
	levels_groups_done(&g);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(losses),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
