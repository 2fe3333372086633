// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protection key rights register keeps its value, in two threads with
 * different ones.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;
static uint32_t mine;

static uint32_t pkru(void)
{
	uint32_t value, high;

	__asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(value), "=d"(high) : "c"(0));
	return value;
}

static void set_pkru(uint32_t value)
{
	__asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(value), "c"(0), "d"(0));
}

static void *body(void *arg)
{
	set_pkru(0x55555554 & ~0xc0U);
	atomic_store(&started, 1);
	cr_wait_go();
	cr_eq(pkru(), 0x55555554 & ~0xc0U);
	return NULL;
}

static void setup(void)
{
	char *info = cr_read("/proc/cpuinfo", NULL);
	bool have = strstr(info, " ospke");

	free(info);
	if (!have)
		cr_skip("no protection keys");
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
	mine = 0x5ffff554;
	set_pkru(mine);
}

static void verify(void)
{
	cr_eq(pkru(), mine);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
