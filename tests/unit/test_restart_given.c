// SPDX-License-Identifier: GPL-2.0-only
/* Files that parts of a restart want: which of them another part gives back or takes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/core/engine.h"
#include "supervisor/restart/restart_given.h"

#define A	11		/* hashes of contents */
#define B	22

static bool decide(const char *tried, json_t **ret_given)
{
	json_t *json = json_loads(tried, 0, NULL);
	bool missing;

	assert_non_null(json);
	missing = restart_given(json, ret_given);
	assert_null(json_object_get(json, "wants"));
	assert_null(json_object_get(json, "keeps"));
	assert_null(json_object_get(json, "made"));
	json_decref(json);
	return missing;
}

static void assert_given(json_t *given, size_t nr, long long hash)
{
	assert_int_equal(json_array_size(given), nr);
	if (nr)
		assert_int_equal(json_integer_value(json_array_get(given, 0)), hash);
	json_decref(given);
}

static void test_nothing_wanted(void **state)
{
	json_t *given;

	(void)state;
	assert_false(decide("{}", &given));
	assert_given(given, 0, 0);
	assert_false(decide("{\"keeps\": [[11, 0, 0]], \"made\": [[0, 111, 5]]}", &given));
	assert_given(given, 0, 0);
}

static void test_kept(void **state)
{
	json_t *given;

	(void)state;
	assert_false(decide("{\"wants\": [[11, 111, 5]], \"keeps\": [[22, 0, 0], [11, 0, 0]]}",
			    &given));
	assert_given(given, 1, A);
	/* another content of the same name */
	assert_true(decide("{\"wants\": [[11, 111, 5]], \"keeps\": [[22, 0, 0]]}", &given));
	assert_given(given, 0, 0);
}

static void test_made(void **state)
{
	json_t *given;

	(void)state;
	assert_false(decide("{\"wants\": [[11, 111, 5]], \"made\": [[0, 111, 5]]}", &given));
	assert_given(given, 1, A ^ ENGINE_GIVEN_FREED);
	/* made anew, when the one that is wanted had been removed */
	assert_true(decide("{\"wants\": [[11, 111, 5]], \"made\": [[0, 111, 6]]}", &given));
	assert_given(given, 0, 0);
	/* two nodes, one after the other */
	assert_false(decide("{\"wants\": [[11, 111, 5]], \"made\": [[0, 111, 6], [0, 111, 4]]}",
			    &given));
	assert_given(given, 1, A ^ ENGINE_GIVEN_FREED);
}

static void test_one_of_two(void **state)
{
	json_t *given;

	(void)state;
	assert_true(decide("{\"wants\": [[11, 111, 5], [22, 222, 5]], \"keeps\": [[22, 0, 0]]}",
			   &given));
	assert_given(given, 1, B);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_wanted),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_one_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
