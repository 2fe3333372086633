// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in a barrier in shared memory, until a child comes to it.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static pthread_barrier_t *barrier;
static pid_t child;

static void in_child(void)
{
	int ret = pthread_barrier_wait(barrier);

	cr_check(!ret || ret == PTHREAD_BARRIER_SERIAL_THREAD, "%d", ret);
}

static void setup(void)
{
	pthread_barrierattr_t attr;

	barrier = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	cr_eq(pthread_barrier_init(barrier, &attr, 2), 0);
	child = cr_when_go(in_child);
}

static void block(void)
{
	int ret = pthread_barrier_wait(barrier);

	cr_check(!ret || ret == PTHREAD_BARRIER_SERIAL_THREAD, "%d", ret);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
