// SPDX-License-Identifier: GPL-2.0-only
/*
 * flock(2): an exclusive lock that parent and child share with the description, a shared one
 * on a file of which another description has one, too, and one on a directory.
 */
#include <fcntl.h>
#include <sys/file.h>

#include "tests/cr/phase.h"

static int fd, one, two, dir;
static pid_t child;

static int open_it(const char *name)
{
	return (int)cr_sys(open(cr_path(name), O_RDWR | O_CREAT, 0600));
}

static void refused(int other, int operation)
{
	cr_eq(flock(other, operation | LOCK_NB), -1);
	cr_eq(errno, EWOULDBLOCK);
}

/* It is the child's as well: the parent's going does not end it. */
static void in_child(void *arg)
{
	int other;

	cr_await("closed");
	other = open_it("locked");
	refused(other, LOCK_SH);
	cr_sys(flock(fd, LOCK_UN));
	cr_sys(flock(other, LOCK_EX | LOCK_NB));
}

static void setup(void)
{
	fd = open_it("locked");
	cr_sys(flock(fd, LOCK_EX));
	one = open_it("shared");
	two = open_it("shared");
	cr_sys(flock(one, LOCK_SH));
	cr_sys(flock(two, LOCK_SH));
	dir = (int)cr_sys(open(cr_path("."), O_RDONLY | O_DIRECTORY));
	cr_sys(flock(dir, LOCK_EX));
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	int other = open_it("shared");

	cr_sys(flock(other, LOCK_SH | LOCK_NB));
	cr_sys(flock(other, LOCK_UN));
	refused(other, LOCK_EX);
	cr_sys(flock(one, LOCK_UN));
	refused(other, LOCK_EX);
	cr_sys(flock(two, LOCK_UN));
	cr_sys(flock(other, LOCK_EX | LOCK_NB));
	refused((int)cr_sys(open(cr_path("."), O_RDONLY | O_DIRECTORY)), LOCK_SH);
	cr_sys(close(fd));
	cr_mark("closed");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
