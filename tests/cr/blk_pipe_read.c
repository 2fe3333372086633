// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in read on an empty pipe: it gets what a child writes later, all of it,
 * and then the end of file.
 */

#include "tests/cr/phase.h"

static int fds[2];
static pid_t child;

static void in_child(void)
{
	close(fds[0]);
	cr_eq(cr_sys(write(fds[1], "hello", 5)), 5);
}

static void setup(void)
{
	cr_sys(pipe(fds));
	child = cr_when_go(in_child);
	close(fds[1]);
}

static void block(void)
{
	char buf[16];

	cr_eq(cr_sys(read(fds[0], buf, sizeof(buf))), 5);
	cr_check(!memcmp(buf, "hello", 5), "content");
	cr_eq(cr_sys(read(fds[0], buf, sizeof(buf))), 0);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
