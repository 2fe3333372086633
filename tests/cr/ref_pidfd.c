// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pidfd of a process outside of the tree, the parent.
 */
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(syscall(SYS_pidfd_open, getppid(), 0));
}

static void verify(void)
{
	cr_sys(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
}

CR_TEST(.setup = setup, .verify = verify);
