// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in sigsuspend with another mask: only the awaited signal ends it, and the
 * old mask is back afterwards.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static volatile sig_atomic_t hits;
static pid_t child, parent;

static void on_usr1(int sig)
{
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	hits += sigismember(&mask, SIGUSR2) ? 1 : 100;
}

static void in_child(void)
{
	cr_sys(kill(parent, SIGUSR2));
	usleep(10000);
	cr_sys(kill(parent, SIGUSR1));
}

static void setup(void)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	sigset_t mask;

	parent = getpid();
	cr_sys(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	cr_sys(sigprocmask(SIG_BLOCK, &mask, NULL));
	child = cr_when_go(in_child);
}

static void block(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	cr_eq(sigsuspend(&mask), -1);
	cr_eq(errno, EINTR);
	cr_eq(hits, 1);
}

static void verify(void)
{
	sigset_t mask;

	cr_join(child);
	sigpending(&mask);
	cr_check(sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1), "pending");
	sigprocmask(SIG_SETMASK, NULL, &mask);
	cr_check(sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGUSR2), "mask");
	signal(SIGUSR2, SIG_IGN);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
