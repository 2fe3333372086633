// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stopped child stays stopped, with its memory, and goes on when it is continued
 * after the wait.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

#define SIZE	(1 << 20)

static pid_t child;

static void in_child(void *arg)
{
	uint8_t *mem = malloc(SIZE);

	cr_fill(mem, SIZE, 1);
	cr_sys(raise(SIGSTOP));
	cr_check_fill(mem, SIZE, 1);
	cr_check(cr_go(), "it went on too early");
	cr_mark("continued");
	for (;;)
		pause();
}

static void setup(void)
{
	int status;

	child = cr_fork(in_child, NULL);
	cr_eq(cr_sys(waitpid(child, &status, WUNTRACED)), child);
	cr_check(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "%#x", status);
}

static void verify(void)
{
	int status;

	cr_await_state(child, 'T');
	/* it was reported already */
	cr_eq(waitpid(child, &status, WUNTRACED | WNOHANG), 0);
	cr_sys(kill(child, SIGCONT));
	cr_eq(cr_sys(waitpid(child, &status, WCONTINUED)), child);
	cr_check(WIFCONTINUED(status), "%#x", status);
	cr_await("continued");
	cr_sys(kill(child, SIGTERM));
	cr_eq(cr_wait_status(child), SIGTERM);
}

CR_TEST(.setup = setup, .verify = verify);
