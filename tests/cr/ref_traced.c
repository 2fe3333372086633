// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child traced by its parent, stopped in its hands; the tracer goes on.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	cr_sys(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	cr_sys(raise(SIGUSR1));
	_exit(3);
}

static void setup(void)
{
	int status;

	child = cr_fork(in_child, NULL);
	cr_eq(cr_sys(waitpid(child, &status, 0)), child);
	cr_check(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1, "%#x", status);
}

static void verify(void)
{
	cr_sys(ptrace(PTRACE_CONT, child, NULL, NULL));
	cr_eq(cr_wait_status(child), 3 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
