// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes send each other real-time signals all the time, one for one: every
 * signal is answered once, none is lost over the wait.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static sigset_t set;
static pid_t child;
static long sent;

static void in_child(void *arg)
{
	pid_t parent = getppid();
	siginfo_t info;
	long answered = 0;

	for (;;) {
		int sig = sigwaitinfo(&set, &info);

		if (sig < 0 && errno == EINTR)
			cr_fail("interrupted");
		if (sig == SIGRTMIN + 1)
			break;
		cr_eq(info.si_value.sival_int, answered);
		answered++;
		cr_sys(sigqueue(parent, SIGRTMIN + 2, info.si_value));
	}
	_exit(0);
}

static void setup(void)
{
	sigemptyset(&set);
	for (int i = 0; i < 3; i++)
		sigaddset(&set, SIGRTMIN + i);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	child = cr_fork(in_child, NULL);
}

static void step(void)
{
	siginfo_t info;

	for (int i = 0; i < 20; i++) {
		cr_sys(sigqueue(child, SIGRTMIN, (union sigval){ .sival_int = (int)sent }));
		cr_eq(cr_sys(sigwaitinfo(&set, &info)), SIGRTMIN + 2);
		cr_eq(info.si_value.sival_int, sent);
		sent++;
	}
}

static void verify(void)
{
	step();
	cr_sys(sigqueue(child, SIGRTMIN + 1, (union sigval){ 0 }));
	cr_join(child);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
