// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flags set by prctl: no_new_privs, dumpable, timer slack, THP disable, what to do
 * about broken memory, and that they are inherited by a child made afterwards.
 */
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	cr_sys(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	cr_sys(prctl(PR_SET_TIMERSLACK, 123456));
	cr_sys(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	cr_sys(prctl(PR_SET_DUMPABLE, 0));
	cr_sys(prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0));
}

static void check(void *arg)
{
	cr_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	cr_eq(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1);
	cr_eq(prctl(PR_GET_TIMERSLACK), 123456);
	cr_eq(prctl(PR_GET_DUMPABLE), 0);
	cr_eq(prctl(PR_MCE_KILL_GET, 0, 0, 0, 0), PR_MCE_KILL_EARLY);
}

static void verify(void)
{
	check(NULL);
	cr_join(cr_fork(check, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
