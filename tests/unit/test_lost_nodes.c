// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes that are off: which jobs count as running only because of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ckptctl/lost_nodes.h"

/* lost_nodes_hold() of two texts of JSON. */
static bool hold(const char *job, const char *lost)
{
	json_t *j = json_loads(job, 0, NULL), *l = lost ? json_loads(lost, 0, NULL) : NULL;
	bool held;

	assert_non_null(j);
	assert_true(!lost || l);
	held = lost_nodes_hold(j, l);
	json_decref(j);
	json_decref(l);
	return held;
}

static void home_is_lost(void **state)
{
	static const char job[] = "{\"state\": \"running\", \"node\": \"n2\"}";

	assert_true(hold(job, "[\"n1\", \"n2\"]"));
	assert_false(hold(job, "[\"n1\", \"n3\"]"));
	assert_false(hold(job, "[]"));
	assert_false(hold(job, NULL));
	assert_false(hold("{\"state\": \"running\"}", "[\"n1\"]"));
}

static void silent_are_lost(void **state)
{
	static const char job[] = "{\"state\": \"running\", \"node\": \"n1\", "
				  "\"silent_nodes\": [\"n2\", \"n3\"]}";

	assert_true(hold(job, "[\"n3\", \"n9\", \"n2\"]"));
	/* n3 may compute */
	assert_false(hold(job, "[\"n2\"]"));
	assert_false(hold(job, "[\"n4\"]"));
	assert_false(hold(job, NULL));
	assert_false(hold("{\"state\": \"running\", \"node\": \"n1\", \"silent_nodes\": []}",
			  "[\"n2\"]"));
}

/* Nothing has to be said of nodes for a job that has come to an end. */
static void over(void **state)
{
	assert_false(hold("{\"state\": \"saved\", \"node\": \"n2\"}", "[\"n2\"]"));
	assert_false(hold("{\"state\": \"lost\", \"node\": \"n2\"}", "[\"n2\"]"));
	assert_false(hold("{\"state\": \"ended\", \"node\": \"n2\"}", "[\"n2\"]"));
	assert_true(hold("{\"state\": \"stopping\", \"node\": \"n2\"}", "[\"n2\"]"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(home_is_lost),
		cmocka_unit_test(silent_are_lost),
		cmocka_unit_test(over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
