// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child that has switched speculation off for itself; it is off still.
 */
#include <linux/prctl.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static pid_t child;
static unsigned long which = PR_SPEC_STORE_BYPASS;

static void in_child(void *arg)
{
	cr_sys(prctl(PR_SET_SPECULATION_CTRL, which, PR_SPEC_DISABLE, 0, 0));
	cr_mark("child");
	cr_wait_go();
	cr_eq(cr_sys(prctl(PR_GET_SPECULATION_CTRL, which, 0, 0, 0)) & PR_SPEC_DISABLE,
	      PR_SPEC_DISABLE);
}

static bool may_be_set(unsigned long feature)
{
	int state = prctl(PR_GET_SPECULATION_CTRL, feature, 0, 0, 0);

	return state > 0 && state & PR_SPEC_PRCTL && !(state & PR_SPEC_DISABLE);
}

static void setup(void)
{
	if (!may_be_set(which))
		which = PR_SPEC_INDIRECT_BRANCH;
	if (!may_be_set(which))
		cr_skip("nothing to switch off on this processor");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
