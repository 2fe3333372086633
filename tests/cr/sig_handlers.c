// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signal actions of all signals: handler, flags, mask, ignored and default ones,
 * as sigaction reports them and as a delivered signal shows.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static struct sigaction before[65];
static volatile sig_atomic_t hits, blocked;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	sigset_t mask;

	hits++;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	blocked = sigismember(&mask, SIGUSR2) + 2 * sigismember(&mask, sig);
}

static void setup(void)
{
	for (int i = 1; i <= 64; i++) {
		struct sigaction sa = { 0 };

		if (i == SIGKILL || i == SIGSTOP || i == 32 || i == 33)
			continue;
		if (i % 3 == 0) {
			sa.sa_handler = SIG_IGN;
		} else if (i % 3 == 1) {
			sa.sa_sigaction = on_signal;
			sa.sa_flags = SA_SIGINFO | (i % 2 ? SA_RESTART : SA_NODEFER) |
				      (i % 5 ? 0 : SA_ONSTACK) | (i % 7 ? 0 : SA_RESETHAND);
			sigaddset(&sa.sa_mask, SIGUSR2);
			sigaddset(&sa.sa_mask, i % 63 + 1);
		}
		cr_sys(sigaction(i, &sa, NULL));
	}
	for (int i = 1; i <= 64; i++)
		if (i != 32 && i != 33)
			cr_sys(sigaction(i, NULL, &before[i]));
}

static void verify(void)
{
	for (int i = 1; i <= 64; i++) {
		struct sigaction now;

		if (i == 32 || i == 33)
			continue;
		cr_sys(sigaction(i, NULL, &now));
		cr_check(now.sa_handler == before[i].sa_handler &&
			 now.sa_flags == before[i].sa_flags, "signal %d", i);
		for (int j = 1; j <= 64; j++)
			cr_check(sigismember(&now.sa_mask, j) ==
				 sigismember(&before[i].sa_mask, j), "mask of %d", i);
	}
	cr_sys(raise(37));	/* 37 % 3 == 1, odd: its own signal is blocked meanwhile */
	cr_eq(hits, 1);
	cr_eq(blocked, 3);
	cr_sys(raise(34));	/* even: SA_NODEFER, but its mask has 35 */
	cr_eq(hits, 2);
	cr_eq(blocked, 1);
	cr_sys(raise(SIGQUIT));	/* ignored */
}

CR_TEST(.setup = setup, .verify = verify);
