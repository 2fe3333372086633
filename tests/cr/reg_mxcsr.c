// SPDX-License-Identifier: GPL-2.0-only
/*
 * Floating point environment: rounding mode, flush to zero and the sticky
 * exception flags of SSE and x87, in two threads with different settings.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;

static uint32_t mxcsr(void)
{
	uint32_t value;

	__asm__ volatile("stmxcsr %0" : "=m"(value));
	return value;
}

static uint16_t control_word(void)
{
	uint16_t value;

	__asm__ volatile("fnstcw %0" : "=m"(value));
	return value;
}

static void set(uint32_t sse, uint16_t x87)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(sse));
	__asm__ volatile("fldcw %0" : : "m"(x87));
}

static void *body(void *arg)
{
	set(0xff8d, 0x0f7f);	/* flush to zero, round to zero, sticky flags set */
	atomic_store(&started, 1);
	cr_wait_go();
	cr_eq(mxcsr(), 0xff8d);
	cr_eq(control_word(), 0x0f7f);
	return NULL;
}

static void setup(void)
{
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
	set(0x3fa1, 0x067f);	/* round down, two sticky flags; 53 bits, round down */
}

static void verify(void)
{
	volatile double one = 1.0, minus_one = -1.0, three = 3.0;
	volatile double above = minus_one / three;

	cr_eq(mxcsr(), 0x3fa1);
	cr_eq(control_word(), 0x067f);
	cr_check(one / three < -above, "rounding down");
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
