// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked masks of the process and of a thread, full but for what cannot be
 * blocked; a signal sent meanwhile waits.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;
static volatile sig_atomic_t hits;

static void on_term(int sig)
{
	hits++;
}

static void *body(void *arg)
{
	sigset_t set, now;

	sigfillset(&set);
	cr_eq(pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
	cr_eq(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
	atomic_store(&started, 1);
	cr_wait_go();
	cr_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	cr_check(!memcmp(&set, &now, 8), "mask of the thread");
	return NULL;
}

static void setup(void)
{
	sigset_t set;

	signal(SIGTERM, on_term);
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMAX);
	cr_sys(sigprocmask(SIG_SETMASK, &set, NULL));
	cr_sys(kill(getpid(), SIGTERM));
}

static void verify(void)
{
	sigset_t set;

	cr_eq(hits, 0);
	sigprocmask(SIG_SETMASK, NULL, &set);
	for (int i = 1; i < 64; i++)
		cr_eq(sigismember(&set, i), i == SIGTERM);
	cr_eq(sigismember(&set, SIGRTMAX), 1);
	sigdelset(&set, SIGTERM);
	cr_sys(sigprocmask(SIG_SETMASK, &set, NULL));
	cr_eq(hits, 1);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
