// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree is neither a session nor a process group of its own (it was started by
 * somebody without job control): it can be checkpointed all the same, and signals to
 * its own group work afterwards, whichever that is.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	cr_mark("child");
	cr_wait_go();
	cr_eq(getpgid(0), getpgid(getppid()));
}

static void setup(void)
{
	cr_check(getsid(0) != getpid() && getpgid(0) != getpid(), "a session of its own");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify, .loose_session = true);
