// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in pthread_cond_timedwait and, in a second thread, in sem_clockwait: both
 * end with ETIMEDOUT, on time.
 */
#include <pthread.h>
#include <semaphore.h>

#include "tests/cr/phase.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;

static void *other(void *arg)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec ts = cr_timespec(start + ns);

	cr_eq(sem_clockwait(&sem, CLOCK_MONOTONIC, &ts), -1);
	cr_eq(errno, ETIMEDOUT);
	cr_check_waited(start, ns);
	return NULL;
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start;
	struct timespec ts;
	pthread_t thread;
	int result;

	sem_init(&sem, 0, 0);
	cr_eq(pthread_create(&thread, NULL, other, NULL), 0);
	start = cr_now(CLOCK_REALTIME);
	ts = cr_timespec(start + ns);
	pthread_mutex_lock(&lock);
	do {
		result = pthread_cond_timedwait(&cond, &lock, &ts);
	} while (result == 0);
	pthread_mutex_unlock(&lock);
	cr_eq(result, ETIMEDOUT);
	cr_check_waited_on(CLOCK_REALTIME, start, ns);
	cr_eq(pthread_join(thread, NULL), 0);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
