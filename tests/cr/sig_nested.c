// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopped three handlers deep, each interrupted by the next while it computed: all
 * return in order, and the blocked mask of each level is right.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static volatile int depth, deepest, returns;
static const int signals[] = { SIGUSR1, SIGUSR2, SIGALRM };

static void on_signal(int sig)
{
	int level = ++depth;
	sigset_t mask;

	deepest = level;
	if (level < 3)
		cr_sys(raise(signals[level]));
	else
		cr_wait_go();
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int i = 0; i < 3; i++)
		cr_eq(sigismember(&mask, signals[i]), i < level);
	depth--;
	returns++;
}

static void setup(void)
{
	for (int i = 0; i < 3; i++)
		signal(signals[i], on_signal);
}

static void block(void)
{
	cr_sys(raise(SIGUSR1));
}

static void verify(void)
{
	sigset_t mask;

	cr_eq(deepest, 3);
	cr_eq(depth, 0);
	cr_eq(returns, 3);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int i = 0; i < 3; i++)
		cr_eq(sigismember(&mask, signals[i]), 0);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
