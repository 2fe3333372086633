// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in F_OFD_SETLKW for a range that another open file description has locked.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int mine, theirs;
static pid_t child;

static void in_child(void)
{
	struct flock lock = { .l_type = F_UNLCK, .l_start = 10, .l_len = 10 };

	cr_sys(fcntl(theirs, F_OFD_SETLK, &lock));
}

static void setup(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 10, .l_len = 10 };

	mine = (int)cr_sys(open(cr_path("locked"), O_RDWR | O_CREAT, 0600));
	theirs = (int)cr_sys(open(cr_path("locked"), O_RDWR));
	cr_sys(fcntl(theirs, F_OFD_SETLK, &lock));
	child = cr_when_go(in_child);
}

static void block(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 15, .l_len = 10 };

	cr_sys(fcntl(mine, F_OFD_SETLKW, &lock));
}

static void verify(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 15, .l_len = 1 };

	cr_join(child);
	cr_eq(fcntl(theirs, F_OFD_SETLK, &lock), -1);
	cr_eq(errno, EAGAIN);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
