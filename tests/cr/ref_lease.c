// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a lease on a file; it is still there afterwards.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("leased"), O_RDWR | O_CREAT, 0600));
	cr_sys(fcntl(fd, F_SETLEASE, F_WRLCK));
}

static void verify(void)
{
	cr_eq(fcntl(fd, F_GETLEASE), F_WRLCK);
}

CR_TEST(.setup = setup, .verify = verify);
