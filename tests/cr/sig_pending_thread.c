// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals pending for one thread, blocked there: they are that thread's still, with
 * their siginfo, and arrive when it opens its mask.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;
static __thread volatile sig_atomic_t hits, value;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	hits++;
	value = info->si_value.sival_int;
}

static void *body(void *arg)
{
	sigset_t set, pending;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 2);
	cr_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	atomic_store(&started, 1);
	cr_wait_go();
	sigpending(&pending);
	cr_check(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGRTMIN + 2),
		 "pending in the thread");
	cr_eq(hits, 0);
	cr_eq(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	cr_eq(hits, 2);
	cr_eq(value, 99);
	return NULL;
}

static void setup(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	cr_sys(sigaction(SIGUSR1, &sa, NULL));
	cr_sys(sigaction(SIGRTMIN + 2, &sa, NULL));
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
	/* the handlers run in the order of delivery, the last one first */
	cr_eq(pthread_sigqueue(thread, SIGUSR1, (union sigval){ .sival_int = 99 }), 0);
	cr_eq(pthread_sigqueue(thread, SIGRTMIN + 2, (union sigval){ .sival_int = 98 }), 0);
}

static void verify(void)
{
	sigset_t pending;

	sigpending(&pending);
	cr_check(!sigismember(&pending, SIGUSR1), "it is the process's now");
	cr_eq(pthread_join(thread, NULL), 0);
	cr_eq(hits, 0);
}

CR_TEST(.setup = setup, .verify = verify);
