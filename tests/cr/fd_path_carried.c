// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file in memory that was opened by way of an O_PATH descriptor, which has the lower
 * number.  Each step counts in the file and in the program's own memory; after a
 * rollback the two must not be apart.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int name_fd, fd;
static uint64_t mine;
static char path[64];

static void check(void)
{
	uint64_t count = 0;

	cr_eq(cr_sys(pread(fd, &count, sizeof(count), 0)), sizeof(count));
	cr_check(count - mine <= 1, "%llu steps in the file, %llu in memory",
		 (unsigned long long)count, (unsigned long long)mine);
}

static void setup(void)
{
	char again[40];

	snprintf(path, sizeof(path), "/dev/shm/cr-path-%d", getpid());
	cr_write_file(path, &mine, sizeof(mine));
	name_fd = (int)cr_sys(open(path, O_PATH));
	snprintf(again, sizeof(again), "/proc/self/fd/%d", name_fd);
	fd = (int)cr_sys(open(again, O_RDWR));
}

/* A checkpoint may come between the two. */
static void step(void)
{
	uint64_t next = mine + 1;

	check();
	cr_eq(cr_sys(pwrite(fd, &next, sizeof(next), 0)), sizeof(next));
	mine = next;
	cr_pause();
}

static void verify(void)
{
	check();
	cr_eq(fcntl(name_fd, F_GETFL) & O_PATH, O_PATH);
	cr_sys(unlink(path));
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
