// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a thread waits in a 32-bit system call of a 64-bit program, which would go on by
 * the number of another one.
 */
#include <pthread.h>

#include "tests/cr/phase.h"

#define POLL_32	168		/* __NR_poll of 32 bits */

static pthread_t thread;
static int tid;

static long poll_32(int ms)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret)
			 : "0"((long)POLL_32), "b"(0L), "c"(0L), "d"((long)ms)
			 : "memory", "r8", "r9", "r10", "r11", "cc");
	return ret;
}

static void *in_thread(void *arg)
{
	__atomic_store_n(&tid, cr_tid(), __ATOMIC_SEQ_CST);
	for (;;)
		poll_32(100000);
	return NULL;
}

static void setup(void)
{
	if (poll_32(0) != 0)
		cr_skip("no 32-bit system calls");
	cr_eq(pthread_create(&thread, NULL, in_thread, NULL), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST))
		usleep(1000);
	cr_await_state(tid, 'S');
	usleep(50000);
}

static void verify(void)
{
	cr_await_state(tid, 'S');
}

CR_TEST(.setup = setup, .verify = verify);
