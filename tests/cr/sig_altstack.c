// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopped inside a signal handler that runs on an alternate stack: the handler
 * returns to what it interrupted, with all registers, and the stack is known still.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static uint8_t stack[65536] __attribute__((aligned(16)));
static volatile int inside;
static double before = 1.5;

static void on_usr1(int sig)
{
	stack_t now;
	uint8_t here;

	cr_check(&here >= stack && &here < stack + sizeof(stack), "not on the stack");
	inside = 1;
	cr_wait_go();
	cr_sys(sigaltstack(NULL, &now));
	cr_eq(now.ss_flags & SS_ONSTACK, SS_ONSTACK);
	cr_check(&here >= stack && &here < stack + sizeof(stack), "not on the stack");
	inside = 2;
}

static void setup(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_ONSTACK };

	cr_sys(sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) }, NULL));
	cr_sys(sigaction(SIGUSR1, &sa, NULL));
}

static void block(void)
{
	volatile double local = before * 3;
	register uint64_t kept __asm__("r12") = 0x1234567890abcdef;

	__asm__ volatile("" : "+r"(kept));
	cr_sys(raise(SIGUSR1));
	__asm__ volatile("" : "+r"(kept));
	cr_check(kept == 0x1234567890abcdef, "register");
	cr_check(local == 4.5, "floating point");
}

static void verify(void)
{
	stack_t now;

	cr_eq(inside, 2);
	cr_sys(sigaltstack(NULL, &now));
	cr_eq(now.ss_flags & SS_ONSTACK, 0);
	cr_check(now.ss_sp == stack, "stack");
	cr_eq(now.ss_size, sizeof(stack));
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
