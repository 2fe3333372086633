// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks of descriptions whose descriptors are closed, so that mappings alone keep them: every
 * OpenJDK has one.  A child shares the mapping; the lock ends with the last of both.  A mapping
 * of the same file by another description, and a record lock (F_OFD_SETLK), are there, too.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGE 4096

static uint8_t *locked, *beside, *record, *gone;
static pid_t child;

static int open_it(const char *name)
{
	return (int)cr_sys(open(cr_path(name), O_RDWR | O_CREAT, 0600));
}

static uint8_t *map_it(int fd)
{
	uint8_t *at;

	cr_sys(ftruncate(fd, PAGE));
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(at != MAP_FAILED, "mmap");
	cr_sys(close(fd));
	return at;
}

static void refused(const char *name)
{
	int other = open_it(name);

	cr_eq(flock(other, LOCK_SH | LOCK_NB), -1);
	cr_eq(errno, EWOULDBLOCK);
	cr_sys(close(other));
}

static struct flock range(off_t start)
{
	return (struct flock) { .l_type = F_WRLCK, .l_start = start, .l_len = 10 };
}

static bool is_free(const char *name, off_t start)
{
	struct flock at = range(start);
	int other = open_it(name);

	cr_sys(fcntl(other, F_OFD_GETLK, &at));
	cr_sys(close(other));
	return at.l_type == F_UNLCK;
}

static void in_child(void *arg)
{
	cr_mark("child");
	cr_await("unmapped");
	refused("locked");
	cr_eq(locked[0], 7);
}

static void setup(void)
{
	struct flock at = range(100);
	int fd = open_it("locked");

	beside = map_it(open_it("locked"));
	cr_sys(flock(fd, LOCK_EX));
	locked = map_it(fd);
	fd = open_it("record");
	cr_sys(fcntl(fd, F_OFD_SETLK, &at));
	record = map_it(fd);
	fd = open_it("gone");
	cr_sys(flock(fd, LOCK_EX));
	gone = map_it(fd);
	cr_sys(unlink(cr_path("gone")));
	locked[0] = record[0] = gone[0] = 7;
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_eq(beside[0], 7);
	cr_eq(record[0] + gone[0], 14);
	refused("locked");
	cr_check(is_free("record", 0) && !is_free("record", 105), "the record lock is another");
	cr_sys(munmap(locked, PAGE));
	refused("locked");		/* the child maps it still */
	cr_mark("unmapped");
	cr_join(child);
	cr_sys(flock(open_it("locked"), LOCK_EX | LOCK_NB));
	cr_sys(munmap(record, PAGE));
	cr_check(is_free("record", 105), "the record lock outlives its mapping");
}

CR_TEST(.setup = setup, .verify = verify);
