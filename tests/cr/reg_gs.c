// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segment bases: a GS base that the program set itself, per thread, is used by its
 * instructions afterwards, and FS still leads to the thread's block.
 */
#include <asm/prctl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;
static uint64_t area[2][8];

static uint64_t by_gs(void)
{
	uint64_t value;

	__asm__ volatile("movq %%gs:8, %0" : "=r"(value));
	return value;
}

static void use(int i)
{
	area[i][1] = 0x1234 + (uint64_t)i;
	cr_sys(syscall(SYS_arch_prctl, ARCH_SET_GS, area[i]));
}

static void check(int i)
{
	unsigned long gs = 0, fs = 0;

	cr_sys(syscall(SYS_arch_prctl, ARCH_GET_GS, &gs));
	cr_sys(syscall(SYS_arch_prctl, ARCH_GET_FS, &fs));
	cr_eq(gs, (uintptr_t)area[i]);
	cr_eq(fs, (uintptr_t)__builtin_thread_pointer());
	cr_eq(by_gs(), 0x1234 + i);
}

static void *body(void *arg)
{
	use(1);
	atomic_store(&started, 1);
	cr_wait_go();
	check(1);
	return NULL;
}

static void setup(void)
{
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
	use(0);
}

static void verify(void)
{
	check(0);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
