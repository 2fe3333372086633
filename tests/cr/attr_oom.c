// SPDX-License-Identifier: GPL-2.0-only
/*
 * oom_score_adj, of parent and child.
 */
#include "tests/cr/phase.h"

static pid_t child;

static int score(void)
{
	char *text = cr_read("/proc/self/oom_score_adj", NULL);
	int value = atoi(text);

	free(text);
	return value;
}

static void in_child(void *arg)
{
	cr_write_file("/proc/self/oom_score_adj", "777", 3);
	cr_mark("child");
	cr_wait_go();
	cr_eq(score(), 777);
}

static void setup(void)
{
	cr_write_file("/proc/self/oom_score_adj", "123", 3);
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_eq(score(), 123);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
