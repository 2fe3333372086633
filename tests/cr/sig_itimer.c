// SPDX-License-Identifier: GPL-2.0-only
/*
 * ITIMER_REAL: a one-shot armed before the wait fires once, on time.
 */
#include <signal.h>
#include <sys/time.h>

#include "tests/cr/phase.h"

static volatile sig_atomic_t hits;
static uint64_t start;

static void on_alarm(int sig)
{
	hits++;
}

static void setup(void)
{
	signal(SIGALRM, on_alarm);
}

static void block(void)
{
	struct itimerval timer = {
		.it_value = { cr_wait_ms() / 1000, cr_wait_ms() % 1000 * 1000L },
	};

	start = cr_now(CLOCK_MONOTONIC);
	cr_sys(setitimer(ITIMER_REAL, &timer, NULL));
	while (!hits)
		usleep(1000);
	cr_check_waited(start, cr_wait_ms() * 1000000ULL);
}

static void verify(void)
{
	struct itimerval now;

	cr_eq(hits, 1);
	cr_sys(getitimer(ITIMER_REAL, &now));
	cr_eq(now.it_value.tv_sec + now.it_value.tv_usec, 0);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
