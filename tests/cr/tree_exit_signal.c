// SPDX-License-Identifier: GPL-2.0-only
/*
 * Children whose end is announced by another signal than SIGCHLD, and by none: the
 * exit signal is kept, and so is the need for __WALL.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child[2];
static volatile sig_atomic_t usr1, chld;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		usr1++;
	else
		chld++;
}

static pid_t make(int exit_signal)
{
	pid_t pid = (pid_t)cr_sys(syscall(SYS_clone, exit_signal, NULL, NULL, NULL, NULL));

	if (pid)
		return pid;
	cr_await("verify");
	_exit(0);
}

static void setup(void)
{
	signal(SIGUSR1, on_signal);
	signal(SIGCHLD, on_signal);
	child[0] = make(SIGUSR1);
	child[1] = make(0);
}

static void verify(void)
{
	int status;

	cr_mark("verify");
	cr_eq(waitpid(child[0], &status, WNOHANG), -1);
	cr_eq(errno, ECHILD);
	for (int i = 0; i < 2; i++) {
		pid_t got;

		do {
			got = waitpid(child[i], &status, __WALL);
		} while (got < 0 && errno == EINTR);
		cr_eq(got, child[i]);
		cr_eq(status, 0);
	}
	cr_eq(usr1, 1);
	cr_eq(chld, 0);
}

CR_TEST(.setup = setup, .verify = verify);
