// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGCHLD to the parent works after the wait, with pid and status in its siginfo;
 * SA_NOCLDWAIT in a child makes its own children vanish without a zombie.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static volatile sig_atomic_t hits, from, status;
static pid_t child;

static void on_chld(int sig, siginfo_t *info, void *context)
{
	hits++;
	from = info->si_pid;
	status = info->si_status;
}

static void nothing(void *arg)
{
}

static void in_child(void *arg)
{
	pid_t pid;

	cr_sys(sigaction(SIGCHLD, &(struct sigaction){
		.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT }, NULL));
	cr_mark("child");
	cr_wait_go();
	pid = cr_fork(nothing, NULL);
	cr_eq(waitpid(pid, NULL, 0), -1);
	cr_eq(errno, ECHILD);
	_exit(11);
}

static void setup(void)
{
	cr_sys(sigaction(SIGCHLD, &(struct sigaction){
		.sa_sigaction = on_chld, .sa_flags = SA_SIGINFO | SA_NOCLDSTOP }, NULL));
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_eq(cr_wait_status(child), 11 << 8);
	cr_eq(hits, 1);
	cr_eq(from, child);
	cr_eq(status, 11);
}

CR_TEST(.setup = setup, .verify = verify);
