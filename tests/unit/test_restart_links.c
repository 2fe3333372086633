// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where both ends of connections between nodes are in a restart; see restart_links.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/outcome.h"
#include "engine/core/sock_link.h"
#include "supervisor/restart/restart_links.h"

static json_t *tried(const char *links)
{
	json_t *json = json_loads(links, 0, NULL);

	assert_non_null(json);
	return json;
}

static void both_ends_are_put_together(void **state)
{
	json_t *all = tried("{\"processes\": 2, \"links\": [[7, 2, \"10.0.0.1\"],"
			    " [7, 1, \"10.0.0.2\"]]}"), *links, *place;

	assert_null(restart_links(all, &links));
	assert_null(json_object_get(all, "links"));
	assert_int_equal(strlen(json_string_value(json_object_get(links, "token"))),
			 SOCK_LINK_TOKEN);
	place = json_array_get(json_object_get(links, "places"), 0);
	assert_int_equal(json_integer_value(json_array_get(place, 0)), 7);
	assert_string_equal(json_string_value(json_array_get(place, 1)), "10.0.0.2");
	assert_string_equal(json_string_value(json_array_get(place, 2)), "10.0.0.1");
	json_decref(links);
	json_decref(all);
}

static void each_restart_has_a_token_of_its_own(void **state)
{
	const char *text = "{\"links\": [[1, 2, \"10.0.0.1\"], [1, 1, \"10.0.0.2\"]]}";
	json_t *all[2] = { tried(text), tried(text) }, *links[2];

	for (int i = 0; i < 2; i++)
		assert_null(restart_links(all[i], &links[i]));
	assert_string_not_equal(json_string_value(json_object_get(links[0], "token")),
				json_string_value(json_object_get(links[1], "token")));
	for (int i = 0; i < 2; i++) {
		json_decref(links[i]);
		json_decref(all[i]);
	}
}

static void a_job_without_links(void **state)
{
	json_t *all = tried("{\"links\": []}"), *links;

	assert_null(restart_links(all, &links));
	assert_null(links);
	json_decref(all);
	all = tried("{}");
	assert_null(restart_links(all, &links));
	assert_null(links);
	json_decref(all);
}

static void an_end_is_missing(void **state)
{
	json_t *all = tried("{\"links\": [[7, 2, \"10.0.0.1\"]]}"), *links, *outcome;

	outcome = restart_links(all, &links);
	assert_non_null(outcome);
	assert_false(outcome_is_ok(outcome));
	assert_null(links);
	json_decref(outcome);
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_are_put_together),
		cmocka_unit_test(each_restart_has_a_token_of_its_own),
		cmocka_unit_test(a_job_without_links),
		cmocka_unit_test(an_end_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
