// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in read on a named FIFO that a child holds open for writing.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;
static pid_t child;

static void in_child(void *arg)
{
	int out = (int)cr_sys(open(cr_path("fifo"), O_WRONLY));

	cr_mark("open");
	cr_wait_go();
	cr_eq(cr_sys(write(out, "late", 4)), 4);
}

static void setup(void)
{
	cr_sys(mkfifo(cr_path("fifo"), 0600));
	child = cr_fork(in_child, NULL);
	fd = (int)cr_sys(open(cr_path("fifo"), O_RDONLY));
	cr_await("open");
}

static void block(void)
{
	char buf[8];

	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 4);
	cr_check(!memcmp(buf, "late", 4), "content");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
