// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals pending for the process: a plain one from a child, an ignored one that
 * is not there, a SIGCHLD, each with what its siginfo says.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static pid_t sender, ended;
static sigset_t set;

static void send(void *arg)
{
	cr_sys(kill(getppid(), SIGUSR1));
	cr_wait_go();
}

static void end(void *arg)
{
	_exit(5);
}

static void setup(void)
{
	sigset_t pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	signal(SIGCHLD, SIG_DFL);
	sender = cr_fork(send, NULL);
	ended = cr_fork(end, NULL);
	do {
		cr_sys(sigpending(&pending));
		usleep(1000);
	} while (!sigismember(&pending, SIGUSR1) || !sigismember(&pending, SIGCHLD));
}

static void verify(void)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	cr_eq(sigtimedwait(&one, &info, &now), SIGUSR1);
	cr_eq(info.si_code, SI_USER);
	cr_eq(info.si_pid, sender);
	cr_eq(info.si_uid, getuid());
	cr_eq(sigtimedwait(&one, &info, &now), -1);
	sigemptyset(&one);
	sigaddset(&one, SIGCHLD);
	cr_eq(sigtimedwait(&one, &info, &now), SIGCHLD);
	cr_check(info.si_pid == ended || info.si_pid == sender, "pid %d", info.si_pid);
	if (info.si_pid == ended)
		cr_eq(info.si_status, 5);
	cr_eq(cr_wait_status(ended), 5 << 8);
	cr_join(sender);
}

CR_TEST(.setup = setup, .verify = verify);
