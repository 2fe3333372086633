// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes that share directory, root and umask (CLONE_FS): a chdir or umask
 * of one is the other's, too.
 */
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;

static void setup(void)
{
	cr_sys(mkdir(cr_path("sub"), 0700));
	child = (pid_t)cr_sys(syscall(SYS_clone, CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL));
	if (child)
		return;
	cr_await("verify");
	cr_sys(chdir(cr_path("sub")));
	umask(0123);
	_exit(0);
}

static void verify(void)
{
	char cwd[512];

	cr_mark("verify");
	cr_join(child);
	cr_check(getcwd(cwd, sizeof(cwd)) && !strcmp(cwd, cr_path("sub")), "%s", cwd);
	cr_eq(umask(0), 0123);
}

CR_TEST(.setup = setup, .verify = verify);
