// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice of what to recover from (supervisor/recover/): random topologies against brute force,
 * and the case in which levels do not nest.
 *
 * The brute force knows levels by their kind and plays each loss: is the node there, is the
 * partner, are K of the K+M pieces left. It tries every assignment of levels to groups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/recover/choose.h"
#include "supervisor/recover/topology.h"

#define TRIALS		100000
#define NODES		12
#define GROUPS_MAX	3
#define GENERATIONS	4
#define LEVELS		4

enum kind { LOCAL, PARTNER, ERASURE, SHARED };

/* The part that one level has of one group of one generation, as the brute force sees it. */
struct copy_box {
	enum kind kind;
	bool held;
	unsigned int node, partner;
	unsigned int members[GROUPS_MAX], nr_members, holders[3], nr_holders;
};

struct box {
	unsigned int nr_generations, nr_groups, nr_levels;
	bool lost[NODES];
	int64_t number[GENERATIONS];
	struct copy_box copy[GENERATIONS][GROUPS_MAX][LEVELS];
};

static uint64_t seed;

static unsigned int dice(unsigned int sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % sides;
}

/* -------------------------------------------------------------- brute force */

static bool box_works(const struct box *b, const struct copy_box *c)
{
	unsigned int i, left = 0;

	if (!c->held)
		return false;
	switch (c->kind) {
	case LOCAL:
		return !b->lost[c->node];
	case PARTNER:
		return !b->lost[c->partner];
	case ERASURE:
		for (i = 0; i < c->nr_members; i++)
			left += !b->lost[c->members[i]];
		for (i = 0; i < c->nr_holders; i++)
			left += !b->lost[c->holders[i]];
		return left >= c->nr_members;
	case SHARED:
		break;
	}
	return true;
}

/*
 * Try every assignment of levels to the groups of generation @g; an assignment is better if its
 * levels are cheaper, group by group from the first. True if any assignment works.
 */
static bool box_try(const struct box *b, unsigned int g, unsigned int best[GROUPS_MAX])
{
	unsigned int i, all = 1, number, at[GROUPS_MAX];
	bool found = false, good;

	for (i = 0; i < b->nr_groups; i++)
		all *= b->nr_levels;
	for (number = 0; number < all; number++) {
		unsigned int rest = number;

		good = true;
		for (i = b->nr_groups; i--;) {
			at[i] = rest % b->nr_levels;
			rest /= b->nr_levels;
			good = good && box_works(b, &b->copy[g][i][at[i]]);
		}
		/* numbers ascend as the levels of the first group, then of the second, ... */
		if (good && !found)
			memcpy(best, at, sizeof(at));
		found = found || good;
	}
	return found;
}

/* The newest generation that works, or -1. */
static int box_answer(const struct box *b, unsigned int best[GROUPS_MAX])
{
	unsigned int g, of[GROUPS_MAX] = { 0 };
	int chosen = -1;

	for (g = 0; g < b->nr_generations; g++) {
		if ((chosen < 0 || b->number[g] > b->number[chosen]) && box_try(b, g, of)) {
			chosen = (int)g;
			memcpy(best, of, sizeof(of));
		}
	}
	return chosen;
}

/* ------------------------------------------------------------------- random */

static void box_fill_copy(struct box *b, unsigned int g, unsigned int group, unsigned int level,
			  enum kind kind)
{
	struct copy_box *c = &b->copy[g][group][level];
	unsigned int i;

	*c = (struct copy_box) { .kind = kind, .held = dice(5) > 0 };
	c->node = b->copy[g][group][0].kind == LOCAL && level ? b->copy[g][group][0].node :
		  (group * 4 + dice(4)) % NODES;
	c->partner = (c->node + 1 + dice(2)) % NODES;
	/* the group's own node and neighbours that hold no parity */
	c->nr_members = 1 + dice(GROUPS_MAX);
	for (i = 0; i < c->nr_members; i++)
		c->members[i] = (c->node + i) % NODES;
	c->nr_holders = dice(4);
	for (i = 0; i < c->nr_holders; i++)
		c->holders[i] = (c->node + GROUPS_MAX + i) % NODES;
}

static void box_fill(struct box *b)
{
	enum kind kind[LEVELS] = { LOCAL };
	unsigned int g, i, n;

	*b = (struct box) {
		.nr_generations = 1 + dice(GENERATIONS), .nr_groups = 1 + dice(GROUPS_MAX),
		.nr_levels = 1 + dice(LEVELS),
	};
	for (n = 1; n < LEVELS; n++)
		kind[n] = (enum kind)dice(4);
	for (n = dice(NODES / 2); n; n--)
		b->lost[dice(NODES)] = true;
	for (g = 0; g < b->nr_generations; g++) {
		/* numbers in no order, all different */
		b->number[g] = (int64_t)((g * 3 + 1) % 4 + 1) * 10;
		for (i = 0; i < b->nr_groups; i++)
			for (n = 0; n < b->nr_levels; n++)
				box_fill_copy(b, g, i, n, kind[n]);
	}
}

/* ----------------------------------------------------------------- topology */

static void hold(struct topology_copy *copy, unsigned int node)
{
	assert_int_equal(topology_hold(copy, node), 0);
}

static void give_copy(struct topology_copy *copy, const struct copy_box *c)
{
	unsigned int i;

	copy->held = c->held;
	if (c->kind == LOCAL || c->kind == PARTNER) {
		copy->need = 1;
		hold(copy, c->kind == LOCAL ? c->node : c->partner);
	} else if (c->kind == ERASURE) {
		copy->need = c->nr_members;
		for (i = 0; i < c->nr_members; i++)
			hold(copy, c->members[i]);
		for (i = 0; i < c->nr_holders; i++)
			hold(copy, c->holders[i]);
	}
}

static void give(struct topology *t, const struct box *b)
{
	unsigned int g, i, n;
	char name[16];

	*t = (struct topology) { .nr_levels = b->nr_levels };
	for (i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(topology_node(t, name), (int)i);
		if (b->lost[i])
			assert_int_equal(topology_lose(t, name), 0);
	}
	for (g = 0; g < b->nr_generations; g++) {
		struct topology_generation *to = topology_add(t, b->number[g], b->nr_groups);

		assert_non_null(to);
		for (i = 0; i < b->nr_groups; i++) {
			to->groups[i].node = b->copy[g][i][0].node;
			for (n = 0; n < b->nr_levels; n++)
				give_copy(&to->groups[i].copy[n], &b->copy[g][i][n]);
		}
	}
}

/* The answer of the code under test, as box_answer(). */
static int ask(const struct topology *t, unsigned int best[GROUPS_MAX])
{
	struct choose_row table[GENERATIONS];
	unsigned int working[GENERATIONS][GROUPS_MAX], g, i;
	int chosen;

	for (g = 0; g < t->nr_generations; g++) {
		const struct topology_generation *from = &t->generations[g];

		for (i = 0; i < from->nr_groups; i++)
			working[g][i] = topology_working(t, &from->groups[i]);
		table[g] = (struct choose_row) { from->number, from->nr_groups, working[g] };
	}
	chosen = choose_generation(table, t->nr_generations);
	if (chosen < 0) {
		assert_int_equal(chosen, -ENODATA);
		return -1;
	}
	for (i = 0; i < table[chosen].nr_groups; i++)
		best[i] = (unsigned int)choose_level(working[chosen][i]);
	return chosen;
}

/* A level has a reason if and only if it does not work. */
static void check_reasons(const struct topology *t)
{
	unsigned int g, i, n;
	char why[TOPOLOGY_WHY_MAX];

	for (g = 0; g < t->nr_generations; g++) {
		for (i = 0; i < t->generations[g].nr_groups; i++) {
			const struct topology_group *group = &t->generations[g].groups[i];
			unsigned int working = topology_working(t, group);

			for (n = 0; n < t->nr_levels; n++)
				assert_int_equal(!topology_why(t, group, n, why, sizeof(why))[0],
						 (working >> n) & 1);
		}
	}
}

static void as_brute_force(void **state)
{
	unsigned int trial, none = 0, older = 0, mixed = 0, best[GROUPS_MAX], is[GROUPS_MAX], i;
	struct topology t;
	struct box b;
	int chosen;

	(void)state;
	for (trial = 0; trial < TRIALS; trial++) {
		seed = 0x9e3779b97f4a7c15ULL * (trial + 1);
		box_fill(&b);
		give(&t, &b);
		chosen = box_answer(&b, best);
		if (ask(&t, is) != chosen)
			fail_msg("trial %u: generation %d", trial, chosen);
		for (i = 0; chosen >= 0 && i < b.nr_groups; i++) {
			if (is[i] != best[i])
				fail_msg("trial %u: group %u has level %u instead of %u", trial, i,
					 is[i], best[i]);
			mixed += best[i] != best[0];
		}
		none += chosen < 0;
		for (i = 0; chosen >= 0 && i < b.nr_generations; i++)
			older += b.number[i] > b.number[chosen];
		if (trial % 64 == 0)
			check_reasons(&t);
		topology_done(&t);
	}
	/* the trials were about something */
	assert_true(none > TRIALS / 100 && older > TRIALS / 100 && mixed > TRIALS / 100);
}

/*
 * 8+2, and two groups: the first one has lost its node and its partner, so its cheapest level is
 * parity; the second one has L1 but two holders too few for parity. One level for all groups, the
 * dearest of the cheapest ones, is parity, which the second group has not.
 */
static void levels_that_do_not_nest(void **state)
{
	unsigned int i, working[2];
	struct choose_row table = { 7, 2, working };
	struct topology t = { .nr_levels = 3 };
	struct topology_generation *g;
	char name[16], why[TOPOLOGY_WHY_MAX];

	(void)state;
	for (i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(topology_node(&t, name), (int)i);
	}
	g = topology_add(&t, 7, 2);
	for (i = 0; i < 2; i++) {
		struct topology_group *group = &g->groups[i];
		unsigned int k;

		group->node = 12 * i;
		group->copy[0] = (struct topology_copy) { .held = true, .need = 1 };
		hold(&group->copy[0], 12 * i);
		group->copy[1] = (struct topology_copy) { .held = true, .need = 1 };
		hold(&group->copy[1], 12 * i + 1);
		group->copy[2] = (struct topology_copy) { .held = true, .need = 8 };
		for (k = 0; k < 10; k++)
			hold(&group->copy[2], 12 * i + k);
	}
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(topology_lose(&t, name), 0);
	}
	for (i = 13; i < 16; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(topology_lose(&t, name), 0);
	}
	assert_int_equal(topology_lose(&t, "n99"), -ENOENT);
	for (i = 0; i < 2; i++)
		working[i] = topology_working(&t, &g->groups[i]);
	assert_int_equal(working[0], 1 << 2);
	assert_int_equal(working[1], 1 << 0);
	assert_int_equal(choose_generation(&table, 1), 0);
	assert_int_equal(choose_level(working[0]), 2);
	assert_int_equal(choose_level(working[1]), 0);
	assert_int_equal(choose_level(0), -1);
	assert_string_equal(topology_why(&t, &g->groups[0], 0, why, sizeof(why)),
			    "node n0 is lost");
	assert_string_equal(topology_why(&t, &g->groups[1], 2, why, sizeof(why)),
			    "7 of 10 pieces are left, 8 are needed: nodes n13, n14, n15 are lost");
	topology_done(&t);
}

/* A generation without groups, and no generation at all. */
static void nothing_to_choose(void **state)
{
	const unsigned int working[] = { 1, 0 };
	const struct choose_row table[] = { { 3, 0, NULL }, { 2, 2, working },
						   { 1, 1, working } };

	(void)state;
	assert_int_equal(choose_generation(table, 3), 2);
	assert_int_equal(choose_generation(table, 2), -ENODATA);
	assert_int_equal(choose_generation(table, 0), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_brute_force),
		cmocka_unit_test(levels_that_do_not_nest),
		cmocka_unit_test(nothing_to_choose),
	};

	return cmocka_run_group_tests_name("recover", tests, NULL, NULL);
}
