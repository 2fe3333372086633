// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice of what is done about a hang: by policy, cause, what was done before, and what there
 * is to go back to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/diagnose/act.h"

/* A hang against which a rollback helps. */
static const struct act_facts good = {
	.recover = true, .cause = "loops", .state = INCIDENT_CONFIRMED, .generation = 4,
};

static const char *why;

static enum act chosen(struct act_facts facts)
{
	return act_choose(&facts, &why);
}

static void by_policy(void **state)
{
	struct act_facts facts = good;

	assert_int_equal(chosen(facts), ACT_ROLL_BACK);
	assert_null(why);
	facts.state = INCIDENT_NOTIFIED;
	assert_int_equal(chosen(facts), ACT_ROLL_BACK);
	facts.recover = false;
	assert_int_equal(chosen(facts), ACT_TELL);
	assert_null(why);
}

static void by_cause(void **state)
{
	static const char *const yes[] = {
		"loops", "sleeps", "library", "differ", "circle", "arrived",
	};
	static const char *const no[] = {
		"stopped", "traced", "disk", "ended", "finalized", "silent", "early", "unseen",
		"once", "held", "none", "a word of a later version",
	};
	struct act_facts facts = good;

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		facts.cause = yes[i];
		assert_int_equal(chosen(facts), ACT_ROLL_BACK);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		facts.cause = no[i];
		assert_int_equal(chosen(facts), ACT_TELL);
		assert_non_null(why);
	}
	facts.cause = NULL;
	assert_int_equal(chosen(facts), ACT_TELL);
	assert_non_null(why);
}

static void not_again_and_again(void **state)
{
	struct act_facts facts = good;

	facts.here = 1;
	facts.lately = 1;
	assert_int_equal(chosen(facts), ACT_HAND_OVER);
	assert_non_null(strstr(why, "same place"));
	facts.here = 0;
	facts.lately = ACTS_LATELY - 1;
	assert_int_equal(chosen(facts), ACT_ROLL_BACK);
	facts.lately = ACTS_LATELY;
	assert_int_equal(chosen(facts), ACT_HAND_OVER);
	assert_non_null(strstr(why, "within a day"));
	/* the rollback did not end the hang */
	facts = good;
	facts.state = INCIDENT_ACTED;
	assert_int_equal(chosen(facts), ACT_HAND_OVER);
	/* handed over once, and told once */
	facts.state = INCIDENT_HANDED_OVER;
	facts.here = 1;
	assert_int_equal(chosen(facts), ACT_TELL);
	assert_null(why);
}

static void where_it_can(void **state)
{
	struct act_facts facts = good;

	facts.never = "it has ranks on several nodes";
	assert_int_equal(chosen(facts), ACT_TELL);
	assert_string_equal(why, facts.never);
	facts.never = NULL;
	facts.generation = 0;
	assert_int_equal(chosen(facts), ACT_TELL);
	assert_non_null(strstr(why, "no generation"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_policy),
		cmocka_unit_test(by_cause),
		cmocka_unit_test(not_again_and_again),
		cmocka_unit_test(where_it_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
