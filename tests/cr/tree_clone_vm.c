// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes with one address space (CLONE_VM without CLONE_THREAD): a store of
 * one is seen by the other before and after, and their pids stay their own.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static volatile long ticks, child_pid;
static volatile int stop;
static pid_t child;

/* no TLS of its own: plain memory and raw sleeping only */
static int body(void *arg)
{
	child_pid = getpid();
	while (!stop) {
		ticks++;
		usleep(1000);
	}
	return 5;
}

static void setup(void)
{
	uint8_t *stack = cr_map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);

	child = (pid_t)cr_sys(clone(body, stack + 65536, CLONE_VM | SIGCHLD, NULL));
	while (!ticks)
		cr_pause();
}

static void verify(void)
{
	long before = ticks;

	for (int i = 0; ticks < before + 3; i++) {
		cr_check(i < 5000, "the other process stands still");
		usleep(1000);
	}
	cr_eq(child_pid, child);
	stop = 1;
	cr_eq(cr_wait_status(child), 5 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
