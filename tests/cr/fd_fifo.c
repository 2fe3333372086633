// SPDX-License-Identifier: GPL-2.0-only
/*
 * A named FIFO, open for both, with data, and once more by a child for writing only.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;
static pid_t child;

static void in_child(void *arg)
{
	int out;

	close(fd);
	out = (int)cr_sys(open(cr_path("fifo"), O_WRONLY));
	cr_eq(cr_sys(write(out, "early", 5)), 5);
	cr_mark("child");
	cr_wait_go();
	cr_eq(cr_sys(write(out, "-late", 5)), 5);
}

static void setup(void)
{
	cr_sys(mkfifo(cr_path("fifo"), 0600));
	fd = (int)cr_sys(open(cr_path("fifo"), O_RDWR));
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	char buf[16] = "";

	cr_join(child);
	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 10);
	cr_check(!strcmp(buf, "early-late"), "%s", buf);
	cr_eq(cr_sys(write(fd, "x", 1)), 1);
	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 1);
}

CR_TEST(.setup = setup, .verify = verify);
