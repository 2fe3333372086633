// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of /proc that describes a child: it describes that child afterwards.
 */
#include <fcntl.h>
#include <signal.h>

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
	char path[64];

	child = cr_fork(in_child, NULL);
	snprintf(path, sizeof(path), "/proc/%d/stat", child);
	fd = (int)cr_sys(open(path, O_RDONLY));
}

static void verify(void)
{
	char buf[512] = "";

	cr_check(cr_sys(pread(fd, buf, sizeof(buf) - 1, 0)) > 0, "stat");
	cr_eq(atoi(buf), child);
	cr_sys(kill(child, SIGKILL));
	cr_wait_status(child);
	cr_eq(pread(fd, buf, sizeof(buf), 0), -1);
	cr_eq(errno, ESRCH);
}

CR_TEST(.setup = setup, .verify = verify);
