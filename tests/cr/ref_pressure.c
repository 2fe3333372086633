// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a trigger of /proc/pressure, which lasts as long as its descriptor.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	static const char trigger[] = "some 500000 2000000";

	fd = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK);
	if (fd < 0 || write(fd, trigger, sizeof(trigger)) < 0)
		cr_skip("no pressure stall information: %s", strerror(errno));
}

static void verify(void)
{
	/* there is one already */
	cr_eq(write(fd, "some 500000 2000000", 20), -1);
	cr_eq(errno, EBUSY);
}

CR_TEST(.setup = setup, .verify = verify);
