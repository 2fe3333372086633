// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery by a job's command: which ends are failures, which generation is taken, and when it
 * stops. A property at the end: whatever happens, a job without new checkpoints is recovered
 * twice at most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ckptctl/recover_policy.h"

static const struct recover_rules often = { 10, 1000 };
static const int64_t three[] = { 1, 2, 5 };

static struct recover_death death_at(int64_t at_ms, const int64_t *generations, size_t nr)
{
	return (struct recover_death){ .at_ms = at_ms, .exit_status = 128 + SIGKILL,
				       .generations = generations, .nr = nr };
}

static void failures(void **state)
{
	static const int failing[] = { SIGKILL, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS };
	static const int wanted[] = { 0, 1, 127, 255, 128 + SIGTERM, 128 + SIGINT, 128 + SIGHUP,
				      128 + SIGUSR1, 128 + SIGXCPU };
	struct recover_death death = {};
	size_t i;

	for (i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
		death.exit_status = 128 + failing[i];
		assert_true(recover_is_failure(&death));
	}
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		death.exit_status = wanted[i];
		assert_false(recover_is_failure(&death));
	}
	death = (struct recover_death){ .lost = true };
	assert_true(recover_is_failure(&death));
	death.asked = true;
	assert_false(recover_is_failure(&death));
}

static void same_place(void **state)
{
	struct recover_death death = death_at(0, three, 3);
	struct recover_past past = {};
	const char *why = NULL;

	assert_int_equal(recover_choose(&past, &often, &death, &why), 5);
	assert_int_equal(recover_choose(&past, &often, &death, &why), 2);
	assert_null(why);
	assert_int_equal(recover_choose(&past, &often, &death, &why), 0);
	assert_non_null(strstr(why, "three times"));
}

static void new_checkpoint_starts_again(void **state)
{
	static const int64_t more[] = { 1, 2, 5, 6 };
	struct recover_death death = death_at(0, three, 3), later = death_at(1, more, 4);
	struct recover_past past = {};
	const char *why = NULL;

	assert_int_equal(recover_choose(&past, &often, &death, &why), 5);
	assert_int_equal(recover_choose(&past, &often, &death, &why), 2);
	assert_int_equal(recover_choose(&past, &often, &later, &why), 6);
	assert_int_equal(recover_choose(&past, &often, &later, &why), 5);
}

static void nothing_to_go_back_to(void **state)
{
	struct recover_death death = death_at(0, three, 1), none = death_at(0, NULL, 0);
	struct recover_past past = {}, fresh = {};
	const char *why = NULL;

	assert_int_equal(recover_choose(&past, &often, &death, &why), 1);
	assert_int_equal(recover_choose(&past, &often, &death, &why), 0);
	assert_non_null(strstr(why, "no older"));
	assert_int_equal(recover_choose(&fresh, &often, &none, &why), 0);
	assert_non_null(strstr(why, "no checkpoint"));
}

static void rate(void **state)
{
	static const struct recover_rules twice = { 2, 1000 };
	int64_t numbers[4] = { 1, 2, 3, 4 };
	struct recover_past past = {};
	const char *why = NULL;
	struct recover_death death = death_at(0, numbers, 1);

	assert_int_equal(recover_choose(&past, &twice, &death, &why), 1);
	death = death_at(500, numbers, 2);
	assert_int_equal(recover_choose(&past, &twice, &death, &why), 2);
	death = death_at(900, numbers, 3);
	assert_int_equal(recover_choose(&past, &twice, &death, &why), 0);
	assert_non_null(strstr(why, "as often"));
	/* the first is too long ago to count */
	death = death_at(1200, numbers, 4);
	assert_int_equal(recover_choose(&past, &twice, &death, &why), 4);
}

static void never_a_loop(void **state)
{
	static const struct recover_rules most = { RECOVER_RECENT_MAX, INT64_MAX / 2 };
	int64_t numbers[64];
	const char *why;
	int seed, i;

	for (seed = 0; seed < 2000; seed++) {
		struct recover_past past = {};
		size_t nr = 0;
		int alone = 0;

		srand((unsigned int)seed);
		for (i = 0; i < 60; i++) {
			struct recover_death death;
			int64_t from;

			if (rand() % 3 == 0) {
				numbers[nr] = (nr ? numbers[nr - 1] : 0) + 1 + rand() % 3;
				nr++;
				alone = 0;
			}
			death = death_at(i, numbers, nr);
			from = recover_choose(&past, &most, &death, &why);
			if (from)
				alone++;
			assert_true(alone <= 2);
			assert_true(!from || (nr && from <= numbers[nr - 1]));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures),
		cmocka_unit_test(same_place),
		cmocka_unit_test(new_checkpoint_starts_again),
		cmocka_unit_test(nothing_to_go_back_to),
		cmocka_unit_test(rate),
		cmocka_unit_test(never_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
