// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads are created and joined all the time: a checkpoint must meet them at any
 * point of their lives, and none may be lost or run twice.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static atomic_long ran;
static long created;

static void *body(void *arg)
{
	atomic_fetch_add(&ran, 1);
	return arg;
}

static void step(void)
{
	pthread_t thread[4];
	void *result;

	for (intptr_t i = 0; i < 4; i++) {
		cr_eq(pthread_create(&thread[i], NULL, body, (void *)i), 0);
		created++;
	}
	for (intptr_t i = 0; i < 4; i++) {
		cr_eq(pthread_join(thread[i], &result), 0);
		cr_eq((intptr_t)result, i);
	}
}

static void verify(void)
{
	for (int i = 0; i < 10; i++)
		step();
	cr_eq(atomic_load(&ran), created);
}

CR_TEST(.step = step, .verify = verify);
