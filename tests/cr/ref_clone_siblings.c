// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: two children of one parent share memory that their parent has not, as
 * one of them made the other with CLONE_PARENT.  No restore could make that.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

struct shared {
	volatile int stop;
	volatile pid_t sibling;
};

static struct shared *shared;
static pid_t child;
static volatile long ticks;	/* of the two siblings' memory */

/* no TLS of its own: plain memory and raw sleeping only */
static int sibling(void *arg)
{
	while (!shared->stop) {
		ticks++;
		usleep(1000);
	}
	return 5;
}

static void in_child(void *arg)
{
	uint8_t *stack = cr_map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);
	long before;

	shared->sibling = (pid_t)cr_sys(clone(sibling, stack + 65536,
					      CLONE_VM | CLONE_PARENT | SIGCHLD, NULL));
	cr_mark("child");
	cr_wait_go();
	before = ticks;
	for (int i = 0; ticks < before + 3; i++) {
		cr_check(i < 5000, "the other process stands still");
		usleep(1000);
	}
	/* its stack is our memory */
	shared->stop = 1;
}

static void setup(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	cr_check(shared != MAP_FAILED, "mmap");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
	cr_eq(cr_wait_status(shared->sibling), 5 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
