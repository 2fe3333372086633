// SPDX-License-Identifier: GPL-2.0-only
/*
 * A read-write lock that two threads read, and one waits to write.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t threads[3];
static volatile int reading, over, written;
static volatile pid_t writer;

static void *read_run(void *arg)
{
	cr_eq(pthread_rwlock_rdlock(&lock), 0);
	__atomic_add_fetch(&reading, 1, __ATOMIC_SEQ_CST);
	while (!over)
		usleep(1000);
	cr_eq(written, 0);
	cr_eq(pthread_rwlock_unlock(&lock), 0);
	return NULL;
}

static void *write_run(void *arg)
{
	writer = cr_tid();
	cr_eq(pthread_rwlock_wrlock(&lock), 0);
	written = 1;
	cr_eq(pthread_rwlock_unlock(&lock), 0);
	return NULL;
}

static void setup(void)
{
	for (int i = 0; i < 2; i++)
		cr_eq(pthread_create(&threads[i], NULL, read_run, NULL), 0);
	while (reading < 2)
		usleep(1000);
	cr_eq(pthread_create(&threads[2], NULL, write_run, NULL), 0);
	while (!writer)
		usleep(1000);
	cr_await_state(writer, 'S');
}

static void verify(void)
{
	cr_eq(pthread_rwlock_trywrlock(&lock), EBUSY);
	cr_eq(written, 0);
	over = 1;
	for (int i = 0; i < 3; i++)
		cr_eq(pthread_join(threads[i], NULL), 0);
	cr_eq(written, 1);
}

CR_TEST(.setup = setup, .verify = verify);
