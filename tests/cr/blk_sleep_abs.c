// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in clock_nanosleep until a point in time, on CLOCK_MONOTONIC and, in a
 * second thread, on CLOCK_REALTIME.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

static void sleep_until(clockid_t clock)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(clock);
	struct timespec ts = cr_timespec(start + ns);

	cr_eq(clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL), 0);
	cr_check_waited_on(clock, start, ns);
}

static void *other(void *arg)
{
	sleep_until(CLOCK_REALTIME);
	return NULL;
}

static void block(void)
{
	pthread_t thread;

	cr_eq(pthread_create(&thread, NULL, other, NULL), 0);
	sleep_until(CLOCK_MONOTONIC);
	cr_eq(pthread_join(thread, NULL), 0);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
