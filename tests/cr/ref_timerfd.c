// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an armed timerfd.
 */
#include <sys/timerfd.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(timerfd_create(CLOCK_MONOTONIC, 0));
	cr_sys(timerfd_settime(fd, 0, &(struct itimerspec){ { 0, 0 }, { 0, 50000000 } }, NULL));
}

static void verify(void)
{
	uint64_t expirations;

	cr_eq(cr_sys(read(fd, &expirations, 8)), 8);
	cr_eq(expirations, 1);
}

CR_TEST(.setup = setup, .verify = verify);
