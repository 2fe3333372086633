// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that are nearly right: the nearest one is found, and none where nothing is near.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/typo.h"

static const char *const names[] = { "checkpoint", "restart", "restore", "rm", "run", "ps", "pin" };

static const char *typo_of(const char *wanted)
{
	struct typo typo = { .wanted = wanted };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		typo_try(&typo, names[i]);
	return typo.nearest;
}

static void test_nearest(void **arg)
{
	(void)arg;
	assert_string_equal(typo_of("chekpoint"), "checkpoint");
	assert_string_equal(typo_of("checkpiont"), "checkpoint");
	assert_string_equal(typo_of("checkpointt"), "checkpoint");
	assert_string_equal(typo_of("rstart"), "restart");
	assert_string_equal(typo_of("restre"), "restore");
	assert_string_equal(typo_of("rnu"), "run");
}

static void test_none(void **arg)
{
	char longer[100];

	(void)arg;
	memset(longer, 'r', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_null(typo_of("delete"));
	assert_null(typo_of("x"));
	assert_null(typo_of(""));
	assert_null(typo_of(longer));
}

static void test_hint(void **arg)
{
	const struct typo some = { "rnu", "run", 1 }, none = { .wanted = "delete" };
	char buf[64];

	(void)arg;
	assert_string_equal(typo_hint(&some, buf, sizeof(buf)), " (did you mean run?)");
	assert_string_equal(typo_hint(&none, buf, sizeof(buf)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest), cmocka_unit_test(test_none),
		cmocka_unit_test(test_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
