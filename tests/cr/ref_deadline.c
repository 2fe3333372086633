// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a thread of SCHED_DEADLINE.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static pthread_t thread;
static volatile int state;

static void *body(void *arg)
{
	struct attr attr = {
		.size = sizeof(attr), .policy = 6 /* SCHED_DEADLINE */,
		.runtime = 1000000, .deadline = 100000000, .period = 100000000,
	};

	state = syscall(SYS_sched_setattr, 0, &attr, 0) ? -errno : 1;
	while (state == 1)
		usleep(1000);
	return (void *)(intptr_t)sched_getscheduler(0);
}

static void setup(void)
{
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!state)
		usleep(1000);
	if (state < 0)
		cr_skip("SCHED_DEADLINE: %s", strerror(-state));
}

static void verify(void)
{
	void *policy;

	state = 2;
	cr_eq(pthread_join(thread, &policy), 0);
	cr_eq((intptr_t)policy, 6);
}

CR_TEST(.setup = setup, .verify = verify);
