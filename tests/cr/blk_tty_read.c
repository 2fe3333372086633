// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in read on a terminal of the tree's own: a line typed later arrives.
 */
#include <pty.h>
#include <termios.h>

#include "tests/cr/phase.h"

static int master, slave;
static pid_t child;

static void in_child(void)
{
	cr_eq(cr_sys(write(master, "typed\n", 6)), 6);
}

static void setup(void)
{
	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	child = cr_when_go(in_child);
}

static void block(void)
{
	char buf[32];

	cr_eq(cr_sys(read(slave, buf, sizeof(buf))), 6);
	cr_check(!memcmp(buf, "typed\n", 6), "content");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
