// SPDX-License-Identifier: GPL-2.0-only
/* When a silent part's lease has run out (supervisor/parts/lease_rule.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "supervisor/parts/lease_rule.h"

#define LEASE	60000

/* First time from @from on at which the lease counts as over. */
static int64_t over_at(const struct lease_grant *grant, int64_t from)
{
	while (!lease_grant_is_over(grant, from))
		from++;
	return from;
}

static void never_reported(void **state)
{
	struct lease_grant grant = { 0 };

	assert_false(lease_grant_is_over(&grant, INT64_MAX / 2));
	/* granted, but whether the part took it is not known */
	lease_grant_note(&grant, 1000, 0, LEASE);
	assert_false(lease_grant_is_over(&grant, INT64_MAX / 2));
}

static void ends_after_the_margin(void **state)
{
	struct lease_grant grant = { 0 };

	lease_grant_note(&grant, 1000, 0, LEASE);
	lease_grant_note(&grant, 3000, LEASE, LEASE);
	assert_int_equal(over_at(&grant, 3000), 3000 + LEASE + LEASE_MARGIN_MS + LEASE / 100);
}

/* The answer to the last report may be lost: then an older lease counts, which ends sooner. */
static void part_ends_first(void **state)
{
	const int64_t asked = 990, answered = 3000;	/* a message of two seconds */
	struct lease_grant grant = { 0 };

	lease_grant_note(&grant, answered, LEASE, LEASE);
	assert_true(over_at(&grant, answered) > asked + LEASE);
	/* also if the part's clock loses 0.5 % against the home's */
	assert_true(over_at(&grant, answered) > asked + LEASE + LEASE / 200);
}

static void longer_one_counts(void **state)
{
	struct lease_grant grant = { 0 };

	/* the setting was made shorter: the part still holds the longer one */
	lease_grant_note(&grant, 1000, LEASE, 10000);
	assert_true(over_at(&grant, 1000) > 1000 + LEASE);
	/* and when it has the shorter one, the earlier end does not come back */
	lease_grant_note(&grant, 2000, 10000, 10000);
	assert_true(over_at(&grant, 2000) > 1000 + LEASE);
}

static void given_up(void **state)
{
	struct lease_grant grant = { 0 };

	lease_grant_note(&grant, 1000, LEASE, 0);
	assert_true(lease_grant_is_over(&grant, 1000 + 2 * LEASE));
	lease_grant_note(&grant, 3000, 0, 0);
	assert_false(lease_grant_is_over(&grant, INT64_MAX / 2));
}

/* Ticks each 250 ms up to @until; returns @until. */
static int64_t tick_until(struct listening *listening, int64_t from, int64_t until)
{
	for (; from <= until; from += 250)
		listening_tick(listening, from);
	return until;
}

static void silence_is_counted_while_listening(void **state)
{
	struct listening listening = { 0 };
	int64_t now = tick_until(&listening, 1000, 21000);

	assert_int_equal(listening_silence_ms(&listening, now, 9000), 12000);
	/* nothing was heard before this daemon began to listen */
	assert_int_equal(listening_silence_ms(&listening, now, 0), 20000);
}

/* The daemon stood still for a minute: what the others said meanwhile is not read yet. */
static void own_silence_is_not_theirs(void **state)
{
	struct listening listening = { 0 };
	int64_t now = tick_until(&listening, 1000, 21000) + 60000;

	listening_tick(&listening, now);
	assert_int_equal(listening_silence_ms(&listening, now, 20900), 0);
	now = tick_until(&listening, now, now + 12000);
	assert_int_equal(listening_silence_ms(&listening, now, 20900), 12000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_reported), cmocka_unit_test(ends_after_the_margin),
		cmocka_unit_test(part_ends_first), cmocka_unit_test(longer_one_counts),
		cmocka_unit_test(silence_is_counted_while_listening),
		cmocka_unit_test(own_silence_is_not_theirs),
		cmocka_unit_test(given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
