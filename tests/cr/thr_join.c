// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread joined after the wait: the kernel clears its tid and wakes the joiner,
 * who is blocked in pthread_join already while the program waits.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

static pthread_t worker, joiner;

static void *work(void *arg)
{
	cr_wait_go();
	usleep(20000);
	return (void *)42;
}

static void *join(void *arg)
{
	void *result;

	cr_eq(pthread_join(worker, &result), 0);
	return result;
}

static void setup(void)
{
	cr_eq(pthread_create(&worker, NULL, work, NULL), 0);
	cr_eq(pthread_create(&joiner, NULL, join, NULL), 0);
}

static void verify(void)
{
	void *result;

	cr_eq(pthread_join(joiner, &result), 0);
	cr_eq((intptr_t)result, 42);
}

CR_TEST(.setup = setup, .verify = verify);
