// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a lock of flock(2) whose descriptor is closed, so that a mapping alone keeps it.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	int fd = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));

	cr_sys(ftruncate(fd, 4096));
	cr_sys(flock(fd, LOCK_EX));
	cr_check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED, "mmap");
	cr_sys(close(fd));
}

static void verify(void)
{
	int other = (int)cr_sys(open(cr_path("locked"), O_RDWR));

	cr_eq(flock(other, LOCK_EX | LOCK_NB), -1);
	cr_eq(errno, EWOULDBLOCK);
}

CR_TEST(.setup = setup, .verify = verify);
