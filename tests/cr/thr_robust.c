// SPDX-License-Identifier: GPL-2.0-only
/*
 * A robust mutex in shared memory whose owner, a child, dies after the wait: the
 * kernel walks the robust list, and the next owner is told.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static pthread_mutex_t *mutex;
static pid_t child;

static void in_child(void *arg)
{
	cr_eq(pthread_mutex_lock(mutex), 0);
	cr_mark("locked");
	for (;;)
		pause();
}

static void setup(void)
{
	pthread_mutexattr_t attr;

	mutex = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	cr_eq(pthread_mutex_init(mutex, &attr), 0);
	child = cr_fork(in_child, NULL);
	cr_await("locked");
}

static void verify(void)
{
	cr_eq(pthread_mutex_trylock(mutex), EBUSY);
	cr_sys(kill(child, SIGKILL));
	cr_eq(pthread_mutex_lock(mutex), EOWNERDEAD);
	cr_eq(pthread_mutex_consistent(mutex), 0);
	cr_eq(pthread_mutex_unlock(mutex), 0);
	cr_wait_status(child);
}

CR_TEST(.setup = setup, .verify = verify);
