// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of a round of the writes watch: users take turns, whatever number their jobs have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "supervisor/auto/writes_watch.h"

static void test_turns(void **state)
{
	static const struct {
		uid_t uid;
		int64_t id;
	} order[] = { { 7, 1 }, { 8, 6 }, { 9, 4 }, { 7, 2 }, { 8, 7 }, { 7, 3 }, { 7, 5 } };
	struct writes_turn turns[] = {
		{ .uid = 7, .id = 1 }, { .uid = 7, .id = 2 }, { .uid = 7, .id = 3 },
		{ .uid = 9, .id = 4 }, { .uid = 7, .id = 5 }, { .uid = 8, .id = 6 },
		{ .uid = 8, .id = 7 },
	};
	unsigned int i;

	writes_turns_sort(turns, 0);
	writes_turns_sort(turns, 7);
	for (i = 0; i < 7; i++) {
		assert_int_equal(turns[i].uid, order[i].uid);
		assert_int_equal(turns[i].id, order[i].id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
