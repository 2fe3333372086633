// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pending signal of a POSIX timer that is blocked: value, code, number of the timer.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static timer_t timer;
static sigset_t set;

static void setup(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1,
		.sigev_value.sival_int = 1234,
	};
	struct itimerspec spec = { .it_value.tv_nsec = 1000000 };
	sigset_t pending;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	cr_sys(timer_create(CLOCK_MONOTONIC, &event, &timer));
	cr_sys(timer_settime(timer, 0, &spec, NULL));
	do {
		usleep(1000);
		cr_sys(sigpending(&pending));
	} while (!sigismember(&pending, SIGRTMIN + 1));
}

static void verify(void)
{
	struct timespec none = { 0, 0 };
	siginfo_t info;

	cr_eq(cr_sys(sigtimedwait(&set, &info, &none)), SIGRTMIN + 1);
	cr_eq(info.si_code, SI_TIMER);
	cr_eq(info.si_value.sival_int, 1234);
	cr_eq(sigtimedwait(&set, &info, &none), -1);
	cr_sys(timer_delete(timer));
}

CR_TEST(.setup = setup, .verify = verify);
