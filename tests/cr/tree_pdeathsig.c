// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child that asked for a signal when its parent dies gets it after the wait; the
 * root is the subreaper that collects it.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static pid_t middle_pid, leaf;

static void in_leaf(void *arg)
{
	cr_sys(prctl(PR_SET_PDEATHSIG, SIGUSR2));
	cr_mark("leaf");
	for (;;)
		pause();
}

static void middle(void *arg)
{
	pid_t pid = cr_fork(in_leaf, NULL);

	cr_write_file(cr_path("pid"), &pid, sizeof(pid));
	cr_await("leaf");
	cr_mark("middle");
	for (;;)
		pause();
}

static void setup(void)
{
	char *text;

	cr_sys(prctl(PR_SET_CHILD_SUBREAPER, 1));
	middle_pid = cr_fork(middle, NULL);
	cr_await("middle");
	text = cr_read(cr_path("pid"), NULL);
	memcpy(&leaf, text, sizeof(leaf));
	free(text);
}

static void verify(void)
{
	cr_sys(kill(middle_pid, SIGKILL));
	cr_eq(cr_wait_status(middle_pid), SIGKILL);
	cr_eq(cr_wait_status(leaf), SIGUSR2);
}

CR_TEST(.setup = setup, .verify = verify);
