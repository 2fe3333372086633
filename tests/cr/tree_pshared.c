// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mutex and a condition variable in shared memory: a child waits, and is told afterwards.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int waits, value;
} *s;
static pid_t child;

static void child_run(void *arg)
{
	pthread_mutex_lock(&s->mutex);
	s->waits = 1;
	while (!s->value)
		pthread_cond_wait(&s->cond, &s->mutex);
	cr_eq(s->value, 42);
	pthread_mutex_unlock(&s->mutex);
}

static void setup(void)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	s = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->mutex, &mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&s->cond, &cond);
	child = cr_fork(child_run, NULL);
	while (!__atomic_load_n(&s->waits, __ATOMIC_ACQUIRE))
		usleep(1000);
	cr_await_state(child, 'S');
}

static void verify(void)
{
	pthread_mutex_lock(&s->mutex);
	s->value = 42;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->mutex);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
