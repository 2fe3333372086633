// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child in a user namespace of its own.
 */
#include <sched.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	if (unshare(CLONE_NEWUSER) < 0)
		cr_skip("unshare: %s", strerror(errno));
	cr_mark("child");
	cr_wait_go();
}

static void setup(void)
{
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
