// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in pause, in two threads: each returns only for the signal meant for it.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static __thread volatile sig_atomic_t hits;
static pid_t tids[2], process, child;

static void on_usr1(int sig)
{
	hits++;
}

static void in_child(void)
{
	cr_sys(syscall(SYS_tgkill, process, tids[1], SIGUSR1));
	usleep(20000);
	cr_sys(syscall(SYS_tgkill, process, tids[0], SIGUSR1));
}

static void pause_once(void)
{
	cr_eq(pause(), -1);
	cr_eq(errno, EINTR);
	cr_eq(hits, 1);
}

static void *other(void *arg)
{
	tids[1] = cr_tid();
	__atomic_store_n(&tids[0], process, __ATOMIC_RELEASE);
	pause_once();
	return NULL;
}

static pthread_t thread;

static void setup(void)
{
	signal(SIGUSR1, on_usr1);
	process = getpid();
	cr_eq(pthread_create(&thread, NULL, other, NULL), 0);
	while (!__atomic_load_n(&tids[0], __ATOMIC_ACQUIRE))
		cr_pause();
	child = cr_when_go(in_child);
}

static void block(void)
{
	pause_once();
}

static void verify(void)
{
	cr_eq(pthread_join(thread, NULL), 0);
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
