// SPDX-License-Identifier: GPL-2.0-only
/*
 * An orphan: its parent has died and a subreaper, the root of the tree, has become
 * its parent; it still is after the wait, and the root can wait for it.
 */
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static pid_t root, orphan;

static void in_orphan(void *arg)
{
	cr_await("middle-gone");
	cr_eq(getppid(), root);
	cr_mark("orphan");
	cr_wait_go();
	cr_eq(getppid(), root);
	_exit(9);
}

static void middle(void *arg)
{
	pid_t pid = cr_fork(in_orphan, NULL);

	cr_write_file(cr_path("pid"), &pid, sizeof(pid));
}

static void setup(void)
{
	char *text;

	root = getpid();
	cr_sys(prctl(PR_SET_CHILD_SUBREAPER, 1));
	cr_join(cr_fork(middle, NULL));
	text = cr_read(cr_path("pid"), NULL);
	memcpy(&orphan, text, sizeof(orphan));
	free(text);
	cr_mark("middle-gone");
	cr_await("orphan");
}

static void verify(void)
{
	int subreaper = 0;

	cr_sys(prctl(PR_GET_CHILD_SUBREAPER, &subreaper));
	cr_eq(subreaper, 1);
	cr_eq(cr_wait_status(orphan), 9 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
