// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in a relative clock_nanosleep on CLOCK_REALTIME and CLOCK_BOOTTIME (in a
 * second thread).
 */
#include <pthread.h>

#include "tests/cr/phase.h"

static void sleep_on(clockid_t clock)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_BOOTTIME);
	struct timespec ts = cr_timespec(ns), left;

	cr_eq(clock_nanosleep(clock, 0, &ts, &left), 0);
	cr_check_waited_on(CLOCK_BOOTTIME, start, ns);
}

static void *other(void *arg)
{
	sleep_on(CLOCK_BOOTTIME);
	return NULL;
}

static void block(void)
{
	pthread_t thread;

	cr_eq(pthread_create(&thread, NULL, other, NULL), 0);
	sleep_on(CLOCK_REALTIME);
	cr_eq(pthread_join(thread, NULL), 0);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
