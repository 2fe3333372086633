// SPDX-License-Identifier: GPL-2.0-only
/*
 * 64 threads count, each with its own pace and a shared sum under a mutex: no
 * thread is lost, no count is lost.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

#define THREADS	64

static pthread_t thread[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counts[THREADS], sum;

static void *body(void *arg)
{
	long *count = arg, mine = 0;

	while (!cr_go()) {
		mine++;
		*count = mine;
		pthread_mutex_lock(&lock);
		sum++;
		pthread_mutex_unlock(&lock);
		usleep(5000);
	}
	cr_eq(*count, mine);
	return NULL;
}

static void setup(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, &counts[i]), 0);
	for (int i = 0; i < THREADS; i++)
		while (!*(volatile long *)&counts[i])
			usleep(1000);
}

static void verify(void)
{
	long total = 0;

	for (int i = 0; i < THREADS; i++) {
		cr_eq(pthread_join(thread[i], NULL), 0);
		cr_check(counts[i] > 0, "thread %d never ran", i);
		total += counts[i];
	}
	cr_eq(total, sum);
}

CR_TEST(.setup = setup, .verify = verify);
