// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child that may not read the time stamp counter; it still may not afterwards.
 */
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static pid_t child;

static void child_run(void *arg)
{
	int mode = 0;

	cr_sys(prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	cr_mark("set");
	cr_wait_go();
	cr_sys(prctl(PR_GET_TSC, &mode));
	cr_eq(mode, PR_TSC_SIGSEGV);
}

static void setup(void)
{
	child = cr_fork(child_run, NULL);
	cr_await("set");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
