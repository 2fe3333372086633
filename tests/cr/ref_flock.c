// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a file under flock; nobody else gets the lock meanwhile.
 */
#include <fcntl.h>
#include <sys/file.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));
	cr_sys(flock(fd, LOCK_EX));
}

static void verify(void)
{
	int other = (int)cr_sys(open(cr_path("locked"), O_RDWR));

	cr_eq(flock(other, LOCK_EX | LOCK_NB), -1);
	cr_eq(errno, EWOULDBLOCK);
	cr_sys(flock(fd, LOCK_UN));
	cr_sys(flock(other, LOCK_EX | LOCK_NB));
}

CR_TEST(.setup = setup, .verify = verify);
