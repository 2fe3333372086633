// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in open of a FIFO for writing that nobody reads yet; the reader comes after the wait.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void)
{
	int fd = (int)cr_sys(open(cr_path("fifo"), O_RDONLY));
	char buf[8];

	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 4);
}

static void setup(void)
{
	cr_sys(mkfifo(cr_path("fifo"), 0600));
	child = cr_when_go(in_child);
}

static void block(void)
{
	int fd = (int)cr_sys(open(cr_path("fifo"), O_WRONLY));

	cr_eq(cr_sys(write(fd, "late", 4)), 4);
	close(fd);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
