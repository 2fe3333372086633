// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX record locks: ranges of several kinds of a parent and a child in one file, each told as
 * its process's; a child does not inherit them, and closing any descriptor of the file
 * ends those of a process.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd, reader;
static pid_t child;

static void lock(short type, off_t start, off_t len)
{
	struct flock range = { .l_type = type, .l_start = start, .l_len = len };

	cr_sys(fcntl(type == F_RDLCK ? reader : fd, F_SETLK, &range));
}

/* the first lock of another process in the way of a write at that byte */
static struct flock at(off_t start)
{
	struct flock range = { .l_type = F_WRLCK, .l_start = start, .l_len = 1 };

	cr_sys(fcntl(fd, F_GETLK, &range));
	return range;
}

static void is(off_t where, short type, off_t start, off_t len, pid_t pid)
{
	struct flock found = at(where);

	cr_eq(found.l_type, type);
	cr_eq(found.l_start, start);
	cr_eq(found.l_len, len);
	cr_eq(found.l_pid, pid);
}

static void in_child(void *arg)
{
	lock(F_WRLCK, 100, 10);
	cr_mark("locked");
	cr_await("look");
	is(5, F_WRLCK, 0, 10, getppid());
	is(15, F_RDLCK, 10, 10, getppid());
	is(5000, F_WRLCK, 4000, 0, getppid());
	cr_eq(at(105).l_type, F_UNLCK);	/* its own */
	cr_mark("looked");
	cr_await("closed");
	cr_eq(at(5).l_type, F_UNLCK);
	cr_eq(at(5000).l_type, F_UNLCK);
	cr_await("end");
}

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));
	reader = (int)cr_sys(open(cr_path("locked"), O_RDONLY));
	lock(F_WRLCK, 0, 10);
	lock(F_RDLCK, 10, 10);
	lock(F_WRLCK, 4000, 0);	/* and all that is behind */
	child = cr_fork(in_child, NULL);
	cr_await("locked");
}

static void verify(void)
{
	is(105, F_WRLCK, 100, 10, child);
	cr_eq(at(5).l_type, F_UNLCK);
	cr_mark("look");
	cr_await("looked");
	cr_sys(close(reader));
	cr_mark("closed");
	is(105, F_WRLCK, 100, 10, child);
	cr_mark("end");
	cr_join(child);
	cr_eq(at(105).l_type, F_UNLCK);
}

CR_TEST(.setup = setup, .verify = verify);
