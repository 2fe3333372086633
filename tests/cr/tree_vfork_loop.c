// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program starts small programs by vfork and exec all the time: a checkpoint
 * meets it in all stages of that, and no child is lost.
 */
#include <sys/wait.h>

#include "tests/cr/phase.h"

static long started, ended;

static void step(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	cr_check(pid > 0, "vfork");
	started++;
	cr_join(pid);
	ended++;
}

static void verify(void)
{
	step();
	cr_eq(started, ended);
	cr_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_eq(errno, ECHILD);
}

CR_TEST(.step = step, .verify = verify);
