// SPDX-License-Identifier: GPL-2.0-only
/*
 * Close-on-exec is a flag of the descriptor: a program started after the wait has
 * the one and has not the other.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int kept, closed;

static void setup(void)
{
	kept = (int)cr_sys(open("/dev/null", O_RDONLY));
	closed = (int)cr_sys(fcntl(kept, F_DUPFD_CLOEXEC, 50));
}

static void in_child(void *arg)
{
	char script[128];

	snprintf(script, sizeof(script), "[ -e /proc/self/fd/%d ] && [ ! -e /proc/self/fd/%d ]",
		 kept, closed);
	execl("/bin/sh", "sh", "-c", script, NULL);
	_exit(127);
}

static void verify(void)
{
	cr_eq(fcntl(kept, F_GETFD), 0);
	cr_eq(fcntl(closed, F_GETFD), FD_CLOEXEC);
	cr_join(cr_fork(in_child, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
