// SPDX-License-Identifier: GPL-2.0-only
/*
 * The acts of ckpt-slurm-run when a launched job has come to its end: no case may requeue a batch
 * job again and again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "scheduler/slurm/policy.h"

static void test_own_end(void **state)
{
	struct policy_facts ended = { .status = 0 }, failed = { .status = 7 },
			    crashed = { .status = 128 + SIGSEGV };

	assert_int_equal(policy_decide(&ended), POLICY_DONE);
	assert_int_equal(policy_decide(&failed), POLICY_DONE);
	/* it was not restarted, so the crash is the program's own */
	assert_int_equal(policy_decide(&crashed), POLICY_DONE);
	failed.restarted = true;
	failed.before = failed.newest = 3;
	failed.older = 2;
	assert_int_equal(policy_decide(&failed), POLICY_DONE);
}

static void test_saved(void **state)
{
	struct policy_facts facts = { .saved = true, .status = 137, .newest = 1 };

	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
	facts.restarted = true;
	facts.before = 1;
	facts.newest = 2;
	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
}

static void test_restart_refused(void **state)
{
	struct policy_facts facts = { .saved = true, .restarted = true, .status = 3, .before = 4,
				      .newest = 4, .older = 3, .ran_ms = 2 * POLICY_SOON_MS };

	assert_int_equal(policy_decide(&facts), POLICY_OLDER);
	facts.tries = POLICY_TRIES - 1;
	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
	facts.tries = 0;
	facts.older = 0;
	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
}

/* A ckptd of another node is not there yet: the newest generation is worth another try. */
static void test_restart_again(void **state)
{
	struct policy_facts facts = { .saved = true, .restarted = true, .status = POLICY_FAILED,
				      .before = 4, .newest = 4, .older = 3 };

	assert_int_equal(policy_decide(&facts), POLICY_AGAIN);
	facts.again = POLICY_RETRIES;
	assert_int_equal(policy_decide(&facts), POLICY_OLDER);
	/* one that was lost with a node, the same */
	facts.again = 0;
	facts.saved = false;
	facts.gone = facts.lost = true;
	assert_int_equal(policy_decide(&facts), POLICY_AGAIN);
	facts.gone = facts.lost = false;
	facts.saved = true;
	/* nothing was restarted */
	facts.restarted = false;
	assert_int_equal(policy_decide(&facts), POLICY_OLDER);
	facts.restarted = true;
	/* what was refused by name stays refused */
	facts.again = 0;
	facts.status = 3;
	assert_int_equal(policy_decide(&facts), POLICY_OLDER);
	/* the job began */
	facts.saved = false;
	facts.status = 128 + SIGSEGV;
	assert_int_equal(policy_decide(&facts), POLICY_OLDER);
}

static void test_restart_crashes(void **state)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS };
	struct policy_facts facts = { .restarted = true, .before = 4, .newest = 4, .older = 3,
				      .ran_ms = 100 };
	size_t i;

	for (i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
		facts.status = 128 + crashes[i];
		assert_int_equal(policy_decide(&facts), POLICY_OLDER);
	}
	/* it has run well for a while, or has taken a checkpoint: the crash is the program's own */
	facts.ran_ms = POLICY_SOON_MS;
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
	facts.ran_ms = 100;
	facts.newest = 5;
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
	/* somebody has ended it */
	facts.newest = 4;
	facts.status = 128 + SIGTERM;
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
}

static void test_lost(void **state)
{
	struct policy_facts facts = { .restarted = true, .lost = true, .status = 1, .before = 4,
				      .newest = 4, .ran_ms = 100 };

	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
	facts.ran_ms = POLICY_SOON_MS;
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
}

/* ckptd finds a node gone before Slurm does: the next run goes on from a new generation. */
static void test_lost_with_a_node(void **state)
{
	struct policy_facts facts = { .lost = true, .gone = true, .status = 137, .newest = 1,
				      .ran_ms = 100 * POLICY_SOON_MS };

	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
	facts.restarted = true;
	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
	/* without a generation of this run, too, as Slurm would do; not for ever */
	facts.before = 1;
	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
	facts.requeues = POLICY_REQUEUES;
	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
	facts.newest = 2;
	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
	/* soon after a restart, but with a generation of this run */
	facts.ran_ms = 100;
	assert_int_equal(policy_decide(&facts), POLICY_SAVED);
	facts.before = 2;
	facts.requeues = 0;
	/* soon after a restart it may be the restart's fault */
	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
	facts.ran_ms = 100 * POLICY_SOON_MS;
	/* it is not known that its ranks have ended */
	facts.gone = false;
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
	facts.gone = true;
	facts.unknown = true;
	assert_int_equal(policy_decide(&facts), POLICY_UNKNOWN);
	/* it came to its own end */
	facts = (struct policy_facts) { .gone = true, .newest = 1 };
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
}

/* A saved job is never over, whatever is known of it. */
static void test_saved_stays(void **state)
{
	struct policy_facts facts = { .saved = true, .restarted = true, .status = 1, .before = 8,
				      .newest = 3, .older = 2 };

	/* a generation that was there is not listed: that is no reason to go back to another one */
	assert_int_equal(policy_decide(&facts), POLICY_AGAIN);
	facts.again = POLICY_RETRIES;
	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
	facts.newest = 8;
	assert_int_equal(policy_decide(&facts), POLICY_OLDER);
	/* no generation can be read: nothing was restarted */
	facts = (struct policy_facts) { .saved = true, .status = 1, .again = POLICY_RETRIES };
	assert_int_equal(policy_decide(&facts), POLICY_HOLD);
}

static void test_unknown(void **state)
{
	struct policy_facts facts = { .unknown = true, .status = 137 };

	assert_int_equal(policy_decide(&facts), POLICY_UNKNOWN);
	facts.restarted = true;
	assert_int_equal(policy_decide(&facts), POLICY_UNKNOWN);
	/* nobody has to be asked */
	facts.status = 0;
	assert_int_equal(policy_decide(&facts), POLICY_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_end),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_restart_refused),
		cmocka_unit_test(test_restart_again),
		cmocka_unit_test(test_restart_crashes),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_with_a_node),
		cmocka_unit_test(test_saved_stays),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
