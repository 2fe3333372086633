// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chain of sixty processes, each the child of the one before: the last one's status comes up
 * through all.
 */
#include <sys/wait.h>

#include "tests/cr/phase.h"

#define DEEP	60

static pid_t child;

static int descend(int left)
{
	pid_t parent = getpid(), pid;

	if (!left) {
		cr_mark("bottom");
		cr_wait_go();
		return 1;
	}
	pid = (pid_t)cr_sys(fork());
	if (!pid) {
		int below = descend(left - 1);

		_exit(getppid() == parent ? below : 99);
	}
	return WEXITSTATUS(cr_wait_status(pid)) + 1;
}

static void child_run(void *arg)
{
	cr_eq(descend(DEEP), DEEP + 1);
}

static void setup(void)
{
	child = cr_fork(child_run, NULL);
	cr_await("bottom");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
