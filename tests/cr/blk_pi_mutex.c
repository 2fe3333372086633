// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked on a priority-inheriting mutex (FUTEX_LOCK_PI) whose owner is another
 * thread: it is handed over after the wait.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static pthread_mutex_t mutex;
static pthread_t owner;
static atomic_int locked;

static void *own(void *arg)
{
	cr_eq(pthread_mutex_lock(&mutex), 0);
	atomic_store(&locked, 1);
	cr_wait_go();
	usleep(20000);
	atomic_store(&locked, 2);
	cr_eq(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

static void setup(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	cr_eq(pthread_mutex_init(&mutex, &attr), 0);
	cr_eq(pthread_create(&owner, NULL, own, NULL), 0);
	while (!atomic_load(&locked))
		cr_pause();
}

static void block(void)
{
	cr_eq(pthread_mutex_lock(&mutex), 0);
	cr_eq(atomic_load(&locked), 2);
	cr_eq(pthread_mutex_unlock(&mutex), 0);
}

static void verify(void)
{
	cr_eq(pthread_join(owner, NULL), 0);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
