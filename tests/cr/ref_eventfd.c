// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an eventfd with a count.
 */
#include <sys/eventfd.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(eventfd(17, EFD_NONBLOCK));
}

static void verify(void)
{
	eventfd_t value;

	cr_sys(eventfd_read(fd, &value));
	cr_eq(value, 17);
}

CR_TEST(.setup = setup, .verify = verify);
