// SPDX-License-Identifier: GPL-2.0-only
/*
 * SA_NOCLDWAIT: children that end leave no zombies, and wait finds none.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child;

static void ends(void *arg)
{
	cr_wait_go();
}

static void setup(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	cr_sys(sigaction(SIGCHLD, &action, NULL));
	child = cr_fork(ends, NULL);
}

static void verify(void)
{
	cr_eq(waitpid(child, NULL, 0), -1);
	cr_eq(errno, ECHILD);
	cr_eq(kill(child, 0), -1);
}

CR_TEST(.setup = setup, .verify = verify);
