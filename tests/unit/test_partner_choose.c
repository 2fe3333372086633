// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is whose partner: the next one without domains, another domain with them, and as
 * evenly as can be, for every layout of up to nine nodes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "levels/partner.h"

#define MOST	9
#define DOMAINS	4

static const char *const names[MOST] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
static const char *const domains[DOMAINS] = { "r1", "r2", "r3", "a" };

static void without_domains(void **state)
{
	struct levels_node nodes[MOST] = {};
	bool shared = true;
	unsigned int i;

	for (i = 0; i < MOST; i++)
		nodes[i].name = names[i];
	for (i = 0; i < MOST; i++) {
		assert_int_equal(partner_choose(nodes, MOST, names[i], &shared), (i + 1) % MOST);
		assert_false(shared);
	}
	assert_int_equal(partner_choose(nodes, MOST, "z", NULL), -ENOENT);
	assert_int_equal(partner_choose(nodes, 0, "a", NULL), -ENOENT);
	assert_int_equal(partner_choose(nodes, 1, "a", NULL), -ERANGE);
	assert_int_equal(partner_choose(nodes, 2, "b", NULL), 0);
}

static void one_domain(void **state)
{
	struct levels_node nodes[3] = {
		{ "a", "r1" }, { "b", "r1" }, { "c", "r1" },
	};
	bool shared = false;

	assert_int_equal(partner_choose(nodes, 3, "a", &shared), 1);
	assert_true(shared);
	assert_int_equal(partner_choose(nodes, 3, "c", &shared), 0);
}

/* Everybody has one, never himself, never of his domain if there is another. */
static void check(const struct levels_node *nodes, unsigned int nr)
{
	unsigned int load[MOST] = {}, sizes[DOMAINS] = {}, i, j, big = 0, most, worst = 0;

	for (i = 0; i < nr; i++)
		for (j = 0; j < DOMAINS; j++)
			sizes[j] += nodes[i].domain == domains[j];
	for (j = 0; j < DOMAINS; j++)
		big = sizes[j] > big ? sizes[j] : big;
	for (i = 0; i < nr; i++) {
		bool shared = false;
		int p = partner_choose(nodes, nr, nodes[i].name, &shared);

		assert_in_range(p, 0, nr - 1);
		assert_int_not_equal(p, i);
		assert_int_equal(shared, big == nr);
		if (big < nr)
			assert_true(!nodes[i].domain || nodes[p].domain != nodes[i].domain);
		load[p]++;
	}
	for (i = 0; i < nr; i++)
		worst = load[i] > worst ? load[i] : worst;
	most = big < nr && big > nr - big ? (big + nr - big - 1) / (nr - big) : 1;
	assert_int_equal(worst, most);
}

static void every_layout(void **state)
{
	struct levels_node nodes[MOST];
	unsigned int nr, i, code, all, left;

	for (nr = 2, all = (DOMAINS + 1) * (DOMAINS + 1); nr <= MOST; nr++) {
		for (code = 0; code < all; code += nr > 6 ? 97 : 1) {
			for (i = 0, left = code; i < nr; i++, left /= DOMAINS + 1)
				nodes[i] = (struct levels_node) {
					names[i], left % (DOMAINS + 1) == DOMAINS ? NULL :
						  domains[left % (DOMAINS + 1)],
				};
			check(nodes, nr);
		}
		all *= DOMAINS + 1;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_domains),
		cmocka_unit_test(one_domain),
		cmocka_unit_test(every_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
