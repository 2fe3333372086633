// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in open of a FIFO that nobody writes yet; the writer comes after the wait.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;
static pid_t child;

static void in_child(void)
{
	int out = (int)cr_sys(open(cr_path("fifo"), O_WRONLY));

	cr_eq(cr_sys(write(out, "first", 5)), 5);
}

static void setup(void)
{
	cr_sys(mkfifo(cr_path("fifo"), 0600));
	child = cr_when_go(in_child);
}

static void block(void)
{
	char buf[8];

	fd = (int)cr_sys(open(cr_path("fifo"), O_RDONLY));
	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 5);
	close(fd);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
