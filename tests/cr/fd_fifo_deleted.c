// SPDX-License-Identifier: GPL-2.0-only
/*
 * A FIFO that was deleted while open in two processes, with data in it.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int rd;
static pid_t child;

static void in_child(void *arg)
{
	int wr = (int)cr_sys(open(cr_path("fifo"), O_WRONLY));

	cr_eq(cr_sys(write(wr, "early", 5)), 5);
	cr_mark("child");
	cr_wait_go();
	cr_eq(cr_sys(write(wr, "-late", 5)), 5);
}

static void setup(void)
{
	cr_sys(mkfifo(cr_path("fifo"), 0600));
	child = cr_fork(in_child, NULL);
	rd = (int)cr_sys(open(cr_path("fifo"), O_RDONLY));
	cr_await("child");
	cr_sys(unlink(cr_path("fifo")));
}

static void verify(void)
{
	char buf[16] = "";

	cr_join(child);
	cr_eq(cr_sys(read(rd, buf, sizeof(buf))), 10);
	cr_check(!strcmp(buf, "early-late"), "%s", buf);
	cr_eq(cr_sys(read(rd, buf, sizeof(buf))), 0);
	cr_check(access(cr_path("fifo"), F_OK) < 0, "the name is back");
}

CR_TEST(.setup = setup, .verify = verify);
