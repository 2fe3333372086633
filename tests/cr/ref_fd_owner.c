// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pipe whose owner (F_SETOWN) is a process outside of the tree, the parent.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fds[2];

static void setup(void)
{
	cr_sys(pipe(fds));
	cr_sys(fcntl(fds[0], F_SETOWN, getppid()));
}

static void verify(void)
{
	cr_eq(fcntl(fds[0], F_GETOWN), getppid());
}

CR_TEST(.setup = setup, .verify = verify);
