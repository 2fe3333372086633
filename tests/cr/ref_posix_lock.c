// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: POSIX record locks on part of a file, and a lease on another.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;

static void test_lock(void *arg)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 5, .l_len = 1 };

	cr_sys(fcntl(fd, F_GETLK, &lock));
	cr_eq(lock.l_type, F_WRLCK);
	cr_eq(lock.l_pid, getppid());
}

static void setup(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 0, .l_len = 10 };

	fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));
	cr_sys(fcntl(fd, F_SETLK, &lock));
}

static void verify(void)
{
	cr_join(cr_fork(test_lock, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
