// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the tree to checkpoint is a child that shares its directory and umask (CLONE_FS)
 * with a process outside of it, its own parent here (the runner names the child).
 */
#include <signal.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;

static void setup(void)
{
	char pid[16];

	child = (pid_t)cr_sys(syscall(SYS_clone, CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL));
	if (!child) {
		cr_await("verify");
		umask(0123);
		_exit(0);
	}
	snprintf(pid, sizeof(pid), "%d\n", child);
	cr_write_file(cr_path("target"), pid, strlen(pid));
}

static void verify(void)
{
	cr_mark("verify");
	cr_join(child);
	cr_eq(umask(0), 0123);
}

CR_TEST(.setup = setup, .verify = verify);
