// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pidfd of a child.
 */
#include <signal.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;
static int fd;

static void in_child(void *arg)
{
	for (;;)
		pause();
}

static void setup(void)
{
	child = cr_fork(in_child, NULL);
	fd = (int)cr_sys(syscall(SYS_pidfd_open, child, 0));
}

static void verify(void)
{
	cr_sys(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
	cr_eq(cr_wait_status(child), SIGTERM);
}

CR_TEST(.setup = setup, .verify = verify);
