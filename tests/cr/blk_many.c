// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sixteen threads sleep until sixteen points in time, the first well before the
 * checkpoint, the last after it: each wakes at its own.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

#define THREADS	16

static void *body(void *arg)
{
	uint64_t start = cr_now(CLOCK_MONOTONIC);
	uint64_t ns = cr_wait_ms() * 1000000ULL / THREADS * ((uintptr_t)arg + 1);
	struct timespec ts = cr_timespec(ns);

	cr_sys(nanosleep(&ts, NULL));
	if ((uintptr_t)arg + 1 < THREADS)
		cr_wait_go();
	else
		cr_check_waited(start, ns);
	return NULL;
}

static void block(void)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
