// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a pair of unix sockets; it works on afterwards.
 */
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int pair[2];

static void setup(void)
{
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	cr_eq(cr_sys(write(pair[0], "hello", 5)), 5);
}

static void verify(void)
{
	char buf[8];

	cr_eq(cr_sys(read(pair[1], buf, sizeof(buf))), 5);
}

CR_TEST(.setup = setup, .verify = verify);
