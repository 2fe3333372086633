// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which images a node's ranks come from when the job's nodes change: every rank exactly once,
 * whatever the two maps are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/job/rank_sources.h"

static json_t *text(const char *json)
{
	json_t *value = json_loads(json, 0, NULL);

	assert_non_null(value);
	return value;
}

static void expect(const char *was, const char *is, unsigned int node, const char *want)
{
	json_t *w = was ? text(was) : NULL, *i = text(is);
	json_t *sources = rank_sources(w, i, node), *wanted = want ? text(want) : NULL;
	char *said = json_dumps(sources, JSON_COMPACT);

	if (!json_equal(sources, wanted) && (sources || wanted))
		fail_msg("%s to %s, node %u: %s", was ? was : "one image", is, node,
			 said ? said : "nothing");
	free(said);
	json_decref(w);
	json_decref(i);
	json_decref(sources);
	json_decref(wanted);
}

static void test_as_before(void **state)
{
	const char *map = "[\"0,3\", \"1-2\"]";

	expect(map, map, 0, "[{\"part\": 0, \"take\": [[0, 0], [1, 1]], \"leave\": []}]");
	expect(map, map, 1, "[{\"part\": 1, \"take\": [[0, 0], [1, 1]], \"leave\": []}]");
}

static void test_fewer(void **state)
{
	const char *was = "[\"0-1\", \"2-3\", \"4-5\"]", *is = "[\"0-2\", \"3-5\"]";

	expect(was, is, 0, "[{\"part\": 0, \"take\": [[0, 0], [1, 1]], \"leave\": []},"
	       "{\"part\": 1, \"take\": [[0, 2]], \"leave\": [1]}]");
	expect(was, is, 1, "[{\"part\": 1, \"take\": [[1, 0]], \"leave\": [0]},"
	       "{\"part\": 2, \"take\": [[0, 1], [1, 2]], \"leave\": []}]");
	expect(was, "[\"0-5\"]", 0, "[{\"part\": 0, \"take\": [[0, 0], [1, 1]], \"leave\": []},"
	       "{\"part\": 1, \"take\": [[0, 2], [1, 3]], \"leave\": []},"
	       "{\"part\": 2, \"take\": [[0, 4], [1, 5]], \"leave\": []}]");
}

static void test_more(void **state)
{
	expect(NULL, "[\"0\", \"1-2\"]", 1,
	       "[{\"part\": 0, \"take\": [[1, 0], [2, 1]], \"leave\": [0]}]");
	expect(NULL, "[\"0-2\"]", 0,
	       "[{\"part\": 0, \"take\": [[0, 0], [1, 1], [2, 2]], \"leave\": []}]");
}

static void test_other_jobs(void **state)
{
	expect("[\"0-1\"]", "[\"0-2\"]", 0, NULL);
	expect("[\"0-1\", \"3\"]", "[\"0-2\"]", 0, NULL);
	expect("[\"0-1\"]", "[\"0-1\"]", 1, NULL);
	expect("{}", "[\"0-1\"]", 0, "[]");
}

/* Ranks dealt to nodes at random; NULL: a node would have none. */
static json_t *deal(unsigned int size, unsigned int nr)
{
	json_t *map = json_array();
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_array_append_new(map, json_sprintf("%u", i));
	for (i = nr; i < size; i++) {
		size_t to = (size_t)rand() % nr;

		json_array_set_new(map, to,
				   json_sprintf("%s,%u", json_string_value(json_array_get(map, to)),
						i));
	}
	return map;
}

/* All nodes' sources together are all parts' ranks, each once. */
static void test_all_maps(void **state)
{
	unsigned int round, node, nr_was, nr_is, size;

	srand(7);
	for (round = 0; round < 300; round++) {
		unsigned int taken = 0, left = 0, expected = 0;
		json_t *was, *is;

		size = 1 + (unsigned int)rand() % 12;
		nr_was = 1 + (unsigned int)rand() % size;
		nr_is = 1 + (unsigned int)rand() % size;
		was = deal(size, nr_was);
		is = deal(size, nr_is);
		for (node = 0; node < nr_is; node++) {
			json_t *sources = rank_sources(was, is, node);
			const json_t *source;
			size_t i;

			json_array_foreach(sources, i, source) {
				taken += json_array_size(json_object_get(source, "take"));
				left += json_array_size(json_object_get(source, "leave"));
				expected += json_array_size(json_object_get(source, "take")) +
					    json_array_size(json_object_get(source, "leave"));
			}
			json_decref(sources);
		}
		assert_int_equal(taken, size);
		assert_int_equal(taken + left, expected);
		json_decref(was);
		json_decref(is);
	}
}

static void pids(const char *source, const char *there, int alive, const char *here,
		 const char *roots, const char *others)
{
	json_t *s = text(source), *t = text(there), *h = json_pack("[i, i, i]", 0, 0, 0);
	json_t *got_roots, *got_others, *want_here = text(here), *want;

	assert_int_equal(rank_sources_pids(s, t, h, &got_roots, &got_others), alive);
	assert_true(json_equal(h, want_here));
	assert_int_equal(!got_roots, !roots);
	if (roots) {
		want = text(roots);
		assert_true(json_equal(got_roots, want));
		json_decref(want);
		want = text(others);
		assert_true(json_equal(got_others, want));
		json_decref(want);
	}
	json_decref(s);
	json_decref(t);
	json_decref(h);
	json_decref(want_here);
	json_decref(got_roots);
	json_decref(got_others);
}

static void test_pids(void **state)
{
	const char *part = "{\"take\": [[0, 1], [2, 2]], \"leave\": [1]}";

	pids(part, "[7, 8, 9]", 2, "[0, 7, 9]", "[7, 9]", "[8]");
	/* the one that goes elsewhere had ended: all that is there is ours */
	pids(part, "[7, 0, 9]", 2, "[0, 7, 9]", NULL, NULL);
	pids(part, "[0, 8, 0]", 0, "[0, 0, 0]", "[]", "[8]");
	pids(part, "[7, 8]", -EBADMSG, "[0, 0, 0]", NULL, NULL);
}

static void clash(const char *list, int pid)
{
	json_t *json = text(list);

	assert_int_equal(rank_sources_clash(json), pid);
	json_decref(json);
}

static void test_clash(void **state)
{
	clash("[2, 3, 16385]", 0);
	clash("[0, 2, 0]", 0);
	clash("[2, 3, 2]", 2);
	clash("[]", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_before),
		cmocka_unit_test(test_fewer),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_other_jobs),
		cmocka_unit_test(test_all_maps),
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_clash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
