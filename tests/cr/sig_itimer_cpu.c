// SPDX-License-Identifier: GPL-2.0-only
/*
 * ITIMER_VIRTUAL and ITIMER_PROF count CPU time: they keep their interval, do not
 * run out while the program was away, and fire when it computes.
 */
#include <signal.h>
#include <sys/time.h>

#include "tests/cr/phase.h"

static volatile sig_atomic_t virtual, prof;

static void on_signal(int sig)
{
	if (sig == SIGVTALRM)
		virtual++;
	else
		prof++;
}

static void setup(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	cr_sys(sigaction(SIGVTALRM, &sa, NULL));
	cr_sys(sigaction(SIGPROF, &sa, NULL));
	cr_sys(setitimer(ITIMER_VIRTUAL, &(struct itimerval){ { 0, 30000 }, { 0, 30000 } },
			 NULL));
	cr_sys(setitimer(ITIMER_PROF, &(struct itimerval){ { 0, 0 }, { 900, 0 } }, NULL));
}

static void verify(void)
{
	uint64_t start = cr_now(CLOCK_MONOTONIC);
	struct itimerval now;
	int before = virtual;

	while (virtual < before + 3)
		cr_check(cr_now(CLOCK_MONOTONIC) - start < 20000000000ULL, "no SIGVTALRM");
	cr_sys(getitimer(ITIMER_VIRTUAL, &now));
	cr_eq(now.it_interval.tv_usec, 30000);
	cr_sys(getitimer(ITIMER_PROF, &now));
	cr_check(now.it_value.tv_sec > 800 && now.it_value.tv_sec <= 900, "%ld s",
		 (long)now.it_value.tv_sec);
	cr_eq(prof, 0);
	cr_sys(setitimer(ITIMER_VIRTUAL, &(struct itimerval){ 0 }, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
