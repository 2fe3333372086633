// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in poll on a pidfd: it ends when the child does.
 */
#include <poll.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;
static int fd;

static void in_child(void)
{
	_exit(9);
}

static void setup(void)
{
	child = cr_when_go(in_child);
	fd = (int)cr_sys(syscall(SYS_pidfd_open, child, 0));
}

static void block(void)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	cr_eq(cr_sys(poll(&p, 1, -1)), 1);
	cr_eq(p.revents, POLLIN);
}

static void verify(void)
{
	cr_eq(cr_wait_status(child), 9 << 8);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
