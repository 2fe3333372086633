// SPDX-License-Identifier: GPL-2.0-only
/*
 * More signals are queued than a limit lowered since allows: all are there, with what came
 * with them, and the limit binds afterwards.
 */
#include <signal.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

#define QUEUED	50
#define LIMIT	10

static sigset_t set;

static void setup(void)
{
	struct rlimit limit = { LIMIT, LIMIT };

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGUSR1);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < QUEUED; i++)
		cr_sys(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i }));
	cr_sys(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 1000 }));
	cr_sys(setrlimit(RLIMIT_SIGPENDING, &limit));
}

static void verify(void)
{
	struct rlimit limit;
	siginfo_t info;

	cr_sys(getrlimit(RLIMIT_SIGPENDING, &limit));
	cr_eq(limit.rlim_cur, LIMIT);
	cr_eq(limit.rlim_max, LIMIT);
	cr_eq(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = -1 }), -1);
	cr_eq(errno, EAGAIN);
	cr_eq(cr_sys(sigwaitinfo(&set, &info)), SIGUSR1);
	cr_eq(info.si_code, SI_QUEUE);
	cr_eq(info.si_value.sival_int, 1000);
	for (int i = 0; i < QUEUED; i++) {
		cr_eq(cr_sys(sigwaitinfo(&set, &info)), SIGRTMIN);
		cr_eq(info.si_value.sival_int, i);
	}
	cr_eq(sigtimedwait(&set, &info, &(struct timespec){ 0 }), -1);
}

CR_TEST(.setup = setup, .verify = verify);
