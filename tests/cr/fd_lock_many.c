// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thousand record locks, to read and to write in turn, so that none merges with the next.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

#define NR	1000

static int fd;
static pid_t child;

static short type(int i)
{
	return i % 2 ? F_WRLCK : F_RDLCK;
}

static void child_run(void *arg)
{
	cr_wait_go();
	for (int i = 0; i < NR; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_start = i, .l_len = 1 };

		cr_sys(fcntl(fd, F_GETLK, &lock));
		cr_eq(lock.l_type, type(i));
		cr_eq(lock.l_pid, getppid());
		cr_eq(lock.l_start, i);
		cr_eq(lock.l_len, 1);
	}
}

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("locks"), O_RDWR | O_CREAT, 0600));
	for (int i = 0; i < NR; i++) {
		struct flock lock = { .l_type = type(i), .l_start = i, .l_len = 1 };

		cr_sys(fcntl(fd, F_SETLK, &lock));
	}
	child = cr_fork(child_run, NULL);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
