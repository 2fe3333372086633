// SPDX-License-Identifier: GPL-2.0-only
/*
 * One open file description in parent, child and twice in the parent (fork and
 * dup): the position moves for all; another open of the same file has its own.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd, twin, other;
static pid_t child;

static void in_child(void *arg)
{
	cr_await("moved");
	cr_eq(lseek(fd, 0, SEEK_CUR), 777);
	cr_eq(lseek(twin, 11, SEEK_CUR), 788);
	cr_eq(lseek(other, 5, SEEK_SET), 5);
}

static void setup(void)
{
	uint8_t data[4096];

	cr_fill(data, sizeof(data), 1);
	cr_write_file(cr_path("data"), data, sizeof(data));
	fd = (int)cr_sys(open(cr_path("data"), O_RDWR));
	twin = (int)cr_sys(dup(fd));
	other = (int)cr_sys(open(cr_path("data"), O_RDONLY));
	cr_eq(lseek(fd, 100, SEEK_SET), 100);
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	cr_eq(lseek(twin, 0, SEEK_CUR), 100);
	cr_eq(lseek(other, 0, SEEK_CUR), 0);
	cr_eq(lseek(twin, 777, SEEK_SET), 777);
	cr_mark("moved");
	cr_join(child);
	cr_eq(lseek(fd, 0, SEEK_CUR), 788);
	cr_eq(lseek(other, 0, SEEK_CUR), 5);
	/* flags of the description are shared, those of the descriptor are not */
	cr_sys(fcntl(fd, F_SETFL, O_APPEND));
	cr_check(fcntl(twin, F_GETFL) & O_APPEND, "flags");
}

CR_TEST(.setup = setup, .verify = verify);
