// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a POSIX timer of processor time.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static timer_t timer;
static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	ticks++;
}

static void setup(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec spec = { { 0, 20000000 }, { 0, 20000000 } };
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };

	cr_sys(sigaction(SIGRTMIN, &sa, NULL));
	cr_sys(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
	cr_sys(timer_settime(timer, 0, &spec, NULL));
}

static void verify(void)
{
	int before = ticks;

	for (uint64_t start = cr_now(CLOCK_PROCESS_CPUTIME_ID); ticks < before + 2;)
		cr_check(cr_now(CLOCK_PROCESS_CPUTIME_ID) < start + 5000000000ULL, "it does not "
										   "tick");
	cr_sys(timer_delete(timer));
}

CR_TEST(.setup = setup, .verify = verify);
