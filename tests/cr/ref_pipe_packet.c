// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pipe in packet mode with two packets.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fds[2];

static void setup(void)
{
	cr_sys(pipe2(fds, O_DIRECT));
	cr_sys(write(fds[1], "one", 3));
	cr_sys(write(fds[1], "two", 3));
}

static void verify(void)
{
	char buf[8];

	cr_eq(cr_sys(read(fds[0], buf, sizeof(buf))), 3);
	cr_check(!memcmp(buf, "one", 3), "%.3s", buf);
	cr_eq(cr_sys(read(fds[0], buf, sizeof(buf))), 3);
}

CR_TEST(.setup = setup, .verify = verify);
