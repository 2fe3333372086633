// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a file of /proc of a process that is gone.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static int fd;

static void in_child(void *arg)
{
	cr_await("opened");
}

static void setup(void)
{
	pid_t pid = cr_fork(in_child, NULL);
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = (int)cr_sys(open(path, O_RDONLY));
	cr_mark("opened");
	cr_join(pid);
}

static void verify(void)
{
	char buf[16];

	cr_eq(read(fd, buf, sizeof(buf)), -1);
	cr_eq(errno, ESRCH);
}

CR_TEST(.setup = setup, .verify = verify);
