// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: it traces a process outside of the tree; afterwards still.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t victim;

static void in_victim(void *arg)
{
	for (;;)
		pause();
}

static void leaves(void *arg)
{
	pid_t pid;

	setsid();
	pid = cr_fork(in_victim, NULL);
	cr_write_file(cr_path("pid"), &pid, sizeof(pid));
}

static void setup(void)
{
	char *text;

	cr_join(cr_fork(leaves, NULL));
	text = cr_read(cr_path("pid"), NULL);
	memcpy(&victim, text, sizeof(victim));
	free(text);
	cr_sys(ptrace(PTRACE_SEIZE, victim, NULL, NULL));
}

static void verify(void)
{
	int status;

	cr_sys(ptrace(PTRACE_INTERRUPT, victim, NULL, NULL));
	cr_eq(cr_sys(waitpid(victim, &status, __WALL)), victim);
	cr_check(WIFSTOPPED(status), "%#x", status);
	cr_sys(kill(victim, SIGKILL));
}

CR_TEST(.setup = setup, .verify = verify);
