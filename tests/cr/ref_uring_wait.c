// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a thread that waits in io_uring_enter for a completion of an idle ring; another thread's
 * request ends the wait afterwards.
 */
#include <pthread.h>

#include "tests/cr/uring.h"

static struct uring ring;
static pthread_t thread;
static volatile pid_t waiter;

static void *wait_run(void *arg)
{
	waiter = cr_tid();
	uring_take(&ring, 31, 0);
	return NULL;
}

static void setup(void)
{
	uring_init(&ring, 4, 0);
	cr_eq(pthread_create(&thread, NULL, wait_run, NULL), 0);
	while (!waiter)
		usleep(1000);
	cr_await_state(waiter, 'S');
}

static void verify(void)
{
	uring_queue(&ring, IORING_OP_NOP, -1, 31);
	uring_submit(&ring, 1);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
