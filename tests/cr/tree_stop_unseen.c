// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stop that the parent has not waited for yet: WUNTRACED reports it once, after
 * the wait, with the signal that stopped the child.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	/* SIGTSTP stops nobody in an orphaned group */
	cr_sys(setpgid(0, 0));
	cr_mark("child");
	for (;;)
		pause();
}

static void setup(void)
{
	child = cr_fork(in_child, NULL);
	cr_await("child");
	cr_sys(kill(child, SIGTSTP));
	cr_await_state(child, 'T');
}

static void verify(void)
{
	int status = 0;

	cr_await_state(child, 'T');
	cr_eq(cr_sys(waitpid(child, &status, WUNTRACED | WNOHANG)), child);
	cr_check(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP, "%#x", status);
	cr_eq(waitpid(child, &status, WUNTRACED | WNOHANG), 0);
	cr_sys(kill(child, SIGKILL));
	cr_eq(cr_wait_status(child), SIGKILL);
}

CR_TEST(.setup = setup, .verify = verify);
