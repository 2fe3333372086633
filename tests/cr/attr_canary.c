// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stack guard and the pointer guard of the C library, in the thread block, and
 * AT_RANDOM: setjmp buffers and atexit handlers made before are usable after.
 */
#include <setjmp.h>
#include <sys/auxv.h>

#include "tests/cr/phase.h"

static jmp_buf env;
static uint8_t random_bytes[16];
static volatile int jumped;

static void at_exit(void)
{
	cr_mark("at-exit");
}

static __attribute__((noinline, optimize("stack-protector-all"))) void guarded(void)
{
	volatile char buf[64];

	memset((char *)buf, 1, sizeof(buf));
	if (setjmp(env) == 0)
		cr_wait_go();
	else
		jumped++;
	if (!jumped)
		longjmp(env, 1);
}

static void setup(void)
{
	memcpy(random_bytes, (void *)getauxval(AT_RANDOM), 16);
	cr_eq(atexit(at_exit), 0);
}

static void verify(void)
{
	cr_eq(jumped, 1);
	cr_check(!memcmp(random_bytes, (void *)getauxval(AT_RANDOM), 16), "AT_RANDOM");
}

CR_TEST(.setup = setup, .wait = guarded, .verify = verify);
