// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a device that is none of the harmless ones.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		cr_skip("no /dev/kmsg");
}

static void verify(void)
{
	cr_check(fcntl(fd, F_GETFD) >= 0, "descriptor");
}

CR_TEST(.setup = setup, .verify = verify);
