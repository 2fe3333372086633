// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thread-local storage: static TLS, pthread keys with destructors, errno, and the
 * thread pointer itself.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

#define THREADS	6

static __thread uint64_t block[64];
static __thread int number = -1;
static pthread_key_t key;
static pthread_t thread[THREADS];
static atomic_int started, destroyed;

static void destroy(void *value)
{
	atomic_fetch_add(&destroyed, (int)(intptr_t)value);
}

static void *body(void *arg)
{
	int i = (int)(intptr_t)arg;

	number = i;
	cr_fill(block, sizeof(block), (uint64_t)i);
	cr_eq(pthread_setspecific(key, (void *)(intptr_t)(i + 1)), 0);
	errno = 100 + i;
	atomic_fetch_add(&started, 1);
	for (volatile int *go = &errno; !cr_go(); *go = 100 + i)
		;
	cr_eq(number, i);
	cr_check_fill(block, sizeof(block), (uint64_t)i);
	cr_eq((intptr_t)pthread_getspecific(key), i + 1);
	cr_check(pthread_equal(pthread_self(), thread[i]), "self");
	return NULL;
}

static void setup(void)
{
	cr_eq(pthread_key_create(&key, destroy), 0);
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, (void *)(intptr_t)i), 0);
	while (atomic_load(&started) < THREADS)
		cr_pause();
}

static void verify(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
	cr_eq(atomic_load(&destroyed), 21);
	cr_eq(number, -1);
}

CR_TEST(.setup = setup, .verify = verify);
