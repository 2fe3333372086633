// SPDX-License-Identifier: GPL-2.0-only
/*
 * waitpid for any child of one process group: that of another group is left.
 */
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t first, second;

static void ends(void *arg)
{
	setpgid(0, 0);
	cr_mark(arg);
	cr_wait_go();
	_exit(*(const char *)arg);
}

static void setup(void)
{
	first = cr_fork(ends, "a");
	second = cr_fork(ends, "b");
	cr_await("a");
	cr_await("b");
}

static void verify(void)
{
	int status;

	cr_eq(cr_sys(waitpid(-second, &status, 0)), second);
	cr_eq(WEXITSTATUS(status), 'b');
	cr_eq(waitpid(-second, &status, 0), -1);
	cr_eq(errno, ECHILD);
	cr_eq(cr_sys(waitpid(-first, &status, 0)), first);
	cr_eq(WEXITSTATUS(status), 'a');
}

CR_TEST(.setup = setup, .verify = verify);
