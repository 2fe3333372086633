// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows on a job's generations: what is in one, that pages meet without a gap or an overlap,
 * also where levels have generations that L1 lacks, and which arguments are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "supervisor/catalog/window.h"

static json_t *rows(int from, int to)
{
	json_t *all = json_array();
	int i;

	for (i = from; i <= to; i++)
		json_array_append_new(all, json_pack("{s:i}", "generation", i));
	return all;
}

static int64_t at(const json_t *all, size_t i)
{
	return json_integer_value(json_object_get(json_array_get(all, i), "generation"));
}

static void cut(void **state)
{
	const struct { struct window window; size_t nr; int64_t first; } cases[] = {
		{ { 0, 0 }, 20, 1 }, { { 0, 5 }, 5, 16 }, { { 10, 0 }, 9, 1 },
		{ { 10, 3 }, 3, 7 }, { { 1, 3 }, 0, 0 }, { { 100, 100 }, 20, 1 },
		{ { 21, 20 }, 20, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *all = rows(1, 20);

		window_cut(&cases[i].window, all);
		assert_int_equal(json_array_size(all), cases[i].nr);
		assert_int_equal(at(all, 0), cases[i].nr ? cases[i].first : 0);
		json_decref(all);
	}
}

static void pages_meet(void **state)
{
	struct window window = { .last = 7 };
	int64_t next = 100;

	do {
		json_t *all = rows(1, 99);
		size_t i;

		window_cut(&window, all);
		i = json_array_size(all);
		assert_int_not_equal(i, 0);
		window.before = at(all, 0);
		while (i--)
			assert_int_equal(at(all, i), --next);
		json_decref(all);
	} while (window.before > 1);
	assert_int_equal(next, 1);
}

static void levels_join(void **state)
{
	struct window window = { .before = 50, .last = 5 };
	json_t *l1 = json_pack("[{s:i},{s:i}]", "generation", 40, "generation", 45);
	json_t *full = json_array();
	int i;

	/* L1 does not fill the window: older generations of a level may come in */
	assert_true(window_may_have(&window, l1, 3));
	assert_true(window_may_have(&window, l1, 49));
	assert_false(window_may_have(&window, l1, 50));
	for (i = 41; i <= 45; i++)
		json_array_append_new(full, json_pack("{s:i}", "generation", i));
	/* L1 fills the window: the cut leaves none that is older */
	assert_false(window_may_have(&window, full, 40));
	assert_true(window_may_have(&window, full, 46));
	json_array_append_new(full, json_pack("{s:i}", "generation", 46));
	window_cut(&window, full);
	assert_int_equal(at(full, 0), 42);
	assert_int_equal(json_array_size(full), 5);
	json_decref(l1);
	json_decref(full);
}

static void arguments(void **state)
{
	static const char *const bad[] = {
		"{\"last\": 0}", "{\"last\": -1}", "{\"before\": \"7\"}", "{\"before\": 0}",
		"{\"last\": 1.5}",
	};
	struct window window = { .last = 77 };
	json_t *args = json_pack("{s:i, s:i, s:i}", "job", 1, "last", 3, "before", 9);
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *wrong = json_loads(bad[i], 0, NULL), *outcome;

		outcome = window_take(wrong, &window);
		assert_non_null(outcome);
		assert_int_equal(window.last, 77);
		json_decref(outcome);
		json_decref(wrong);
	}
	assert_null(window_take(args, &window));
	assert_int_equal(window.last, 3);
	assert_int_equal(window.before, 9);
	json_decref(args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut),
		cmocka_unit_test(pages_meet),
		cmocka_unit_test(levels_join),
		cmocka_unit_test(arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
