// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process with 5,000 supplementary groups, and a child with none.
 */
#include <grp.h>

#include "tests/cr/phase.h"

#define NR	5000

static gid_t groups[NR], now[NR];
static pid_t child;

static void child_run(void *arg)
{
	cr_sys(setgroups(0, NULL));
	cr_mark("none");
	cr_wait_go();
	cr_eq(cr_sys(getgroups(NR, now)), 0);
}

static void setup(void)
{
	for (unsigned int i = 0; i < NR; i++)
		groups[i] = 100000 + 3 * i;
	cr_sys(setgroups(NR, groups));
	child = cr_fork(child_run, NULL);
	cr_await("none");
}

static void verify(void)
{
	cr_eq(cr_sys(getgroups(NR, now)), NR);
	cr_check(!memcmp(groups, now, sizeof(groups)), "other groups");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
