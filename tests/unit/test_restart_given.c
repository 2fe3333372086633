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

static json_t *loaded(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static void assert_forgotten(json_t *tried)
{
	assert_null(json_object_get(tried, "wants"));
	assert_null(json_object_get(tried, "keeps"));
	assert_null(json_object_get(tried, "made"));
	json_decref(tried);
}

static bool decide(const char *wants, const char *tried, json_t **ret_given)
{
	json_t *json = loaded(tried), *list = loaded(wants);
	bool missing = restart_given(list, json, ret_given);

	assert_forgotten(json);
	json_decref(list);
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
	json_t *wanted = NULL, *tried = loaded("{\"wants\": [], \"keeps\": [[11, 0, 0]]}");

	(void)state;
	assert_null(restart_given_wants(tried, &wanted));
	assert_null(wanted);
	assert_forgotten(tried);
}

static void test_wanted_once(void **state)
{
	json_t *tried = loaded("{\"wants\": [[11, 111, 5], [22, 222, 6], [11, 111, 5]]}");
	json_t *wanted, *wants = restart_given_wants(tried, &wanted);
	json_t *want = loaded("[[11, 111, 5], [22, 222, 6]]"), *ask = loaded("[11, 111, 22, 222]");

	(void)state;
	assert_true(json_equal(wants, want));
	assert_true(json_equal(wanted, ask));
	assert_forgotten(tried);
	json_decref(wants);
	json_decref(wanted);
	json_decref(want);
	json_decref(ask);
}

static void test_too_many(void **state)
{
	json_t *list = json_array(), *tried = json_pack("{s:o}", "wants", list);
	json_t *wanted, *wants, *given;

	(void)state;
	for (int i = 0; i <= ENGINE_GIVEN_MAX; i++)
		json_array_append_new(list, json_pack("[i, i, i]", i, i, 1));
	wants = restart_given_wants(tried, &wanted);
	assert_int_equal(json_array_size(wanted), 0);
	assert_true(restart_given(wants, tried, &given));
	assert_forgotten(tried);
	json_decref(wants);
	json_decref(wanted);
	json_decref(given);
}

static void test_kept(void **state)
{
	json_t *given;

	(void)state;
	assert_false(decide("[[11, 111, 5]]", "{\"keeps\": [[22, 0, 0], [11, 0, 0]]}", &given));
	assert_given(given, 1, A);
	/* another content of the same name */
	assert_true(decide("[[11, 111, 5]]", "{\"keeps\": [[22, 0, 0]]}", &given));
	assert_given(given, 0, 0);
}

static void test_made(void **state)
{
	json_t *given;

	(void)state;
	assert_false(decide("[[11, 111, 5]]", "{\"made\": [[0, 111, 5]]}", &given));
	assert_given(given, 1, A ^ ENGINE_GIVEN_FREED);
	/* made anew, when the one that is wanted had been removed */
	assert_true(decide("[[11, 111, 5]]", "{\"made\": [[0, 111, 6]]}", &given));
	assert_given(given, 0, 0);
	/* two nodes, one after the other */
	assert_false(decide("[[11, 111, 5]]", "{\"made\": [[0, 111, 6], [0, 111, 4]]}", &given));
	assert_given(given, 1, A ^ ENGINE_GIVEN_FREED);
}

static void test_one_of_two(void **state)
{
	json_t *given;

	(void)state;
	assert_true(decide("[[11, 111, 5], [22, 222, 5]]", "{\"keeps\": [[22, 0, 0]]}", &given));
	assert_given(given, 1, B);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_wanted),
		cmocka_unit_test(test_wanted_once),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_one_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
