// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zombies nobody has waited for: one exited with a code, one was killed by a
 * signal, one ran out of its own group; each is reported as it ended.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child[3];

static void exits(void *arg)
{
	_exit(42);
}

static void is_killed(void *arg)
{
	for (;;)
		pause();
}

static void leaves(void *arg)
{
	cr_sys(setsid());
	_exit(0);
}

static void setup(void)
{
	child[0] = cr_fork(exits, NULL);
	child[1] = cr_fork(is_killed, NULL);
	child[2] = cr_fork(leaves, NULL);
	cr_sys(kill(child[1], SIGKILL));
	for (int i = 0; i < 3; i++)
		cr_await_state(child[i], 'Z');
}

static void verify(void)
{
	siginfo_t info;

	for (int i = 0; i < 3; i++)
		cr_await_state(child[i], 'Z');
	cr_sys(waitid(P_PID, (id_t)child[0], &info, WEXITED | WNOWAIT));
	cr_eq(info.si_code, CLD_EXITED);
	cr_eq(info.si_status, 42);
	cr_eq(info.si_uid, getuid());
	cr_eq(cr_wait_status(child[0]), 42 << 8);
	cr_eq(cr_wait_status(child[1]), SIGKILL);
	cr_eq(cr_wait_status(child[2]), 0);
	cr_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_eq(errno, ECHILD);
}

CR_TEST(.setup = setup, .verify = verify);
