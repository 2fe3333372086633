// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads fight for a mutex, meet at a barrier and pass a token by condition
 * variables all the time: no lost wake-up, no broken lock.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

#define THREADS	4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t thread[THREADS];
static int turn;
static long passed;
static atomic_bool stop;

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	bool last = false;

	while (!last) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&turn_changed, &lock);
		passed++;
		turn = (turn + 1) % THREADS;
		pthread_cond_broadcast(&turn_changed);
		pthread_mutex_unlock(&lock);
		if (me == 0)
			atomic_store(&stop, cr_go());
		pthread_barrier_wait(&barrier);
		last = atomic_load(&stop);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void setup(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (intptr_t i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, (void *)i), 0);
}

static void verify(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
	cr_check(passed > 0 && passed % THREADS == 0, "%ld turns", passed);
}

CR_TEST(.setup = setup, .verify = verify);
