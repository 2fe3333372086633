// SPDX-License-Identifier: GPL-2.0-only
/*
 * Alternate stacks set with SS_ONSTACK, as by a program that saves what it reads in a
 * handler and sets it again; in one thread with SS_AUTODISARM.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

#define AUTODISARM	(1U << 31)	/* SS_AUTODISARM, which older headers do not have */

static uint8_t stack[2][65536] __attribute__((aligned(16)));
static volatile int runs[2];
static atomic_int started;
static pthread_t thread;

static void on_usr1(int sig)
{
	uint8_t here;

	for (int i = 0; i < 2; i++)
		if (&here >= stack[i] && &here < stack[i] + sizeof(stack[i]))
			runs[i]++;
}

static void use(int i, unsigned int flags)
{
	stack_t ss = { .ss_sp = stack[i], .ss_size = sizeof(stack[i]), .ss_flags = (int)flags };

	cr_sys(sigaltstack(&ss, NULL));
}

static void check(int i, unsigned int flags)
{
	stack_t now;

	cr_sys(sigaltstack(NULL, &now));
	cr_check(now.ss_sp == stack[i], "stack");
	cr_eq(now.ss_size, sizeof(stack[i]));
	cr_eq((unsigned int)now.ss_flags, flags);
	cr_eq(pthread_kill(pthread_self(), SIGUSR1), 0);
	cr_eq(runs[i], 1);
}

static void *body(void *arg)
{
	use(1, SS_ONSTACK | AUTODISARM);
	atomic_store(&started, 1);
	cr_wait_go();
	check(1, AUTODISARM);
	return NULL;
}

static void setup(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_ONSTACK };

	cr_sys(sigaction(SIGUSR1, &sa, NULL));
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
	use(0, SS_ONSTACK);
}

static void verify(void)
{
	check(0, 0);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
