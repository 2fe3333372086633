// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nice value and scheduling policy of parent and child: nice 7, a child under
 * SCHED_BATCH with reset-on-fork, one under SCHED_RR where that is allowed.
 */
#include <sched.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

static pid_t child[2];

static void batch(void *arg)
{
	struct sched_param param = { 0 };

	cr_sys(sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &param));
	cr_sys(setpriority(PRIO_PROCESS, 0, 12));
	cr_mark("batch");
	cr_wait_go();
	cr_eq(sched_getscheduler(0), SCHED_BATCH | SCHED_RESET_ON_FORK);
	cr_eq(getpriority(PRIO_PROCESS, 0), 12);
}

static void round_robin(void *arg)
{
	struct sched_param param = { .sched_priority = 3 };
	bool may = sched_setscheduler(0, SCHED_RR, &param) == 0;

	cr_mark("rr");
	cr_wait_go();
	if (!may)
		return;
	cr_eq(sched_getscheduler(0), SCHED_RR);
	cr_sys(sched_getparam(0, &param));
	cr_eq(param.sched_priority, 3);
}

static void setup(void)
{
	cr_sys(setpriority(PRIO_PROCESS, 0, 7));
	child[0] = cr_fork(batch, NULL);
	child[1] = cr_fork(round_robin, NULL);
	cr_await("batch");
	cr_await("rr");
}

static void verify(void)
{
	cr_eq(getpriority(PRIO_PROCESS, 0), 7);
	cr_eq(sched_getscheduler(0), SCHED_OTHER);
	cr_join(child[0]);
	cr_join(child[1]);
}

CR_TEST(.setup = setup, .verify = verify);
