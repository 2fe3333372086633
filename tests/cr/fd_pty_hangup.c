// SPDX-License-Identifier: GPL-2.0-only
/*
 * Terminals with one end closed: the slave of a closed master reads end of file and
 * refuses output; a master whose slave is closed reports EIO.
 */
#include <pty.h>

#include "tests/cr/phase.h"

static int alone_slave, alone_master;

static void setup(void)
{
	int other;

	cr_sys(openpty(&other, &alone_slave, NULL, NULL, NULL));
	close(other);
	cr_sys(openpty(&alone_master, &other, NULL, NULL, NULL));
	close(other);
}

static void verify(void)
{
	char c;

	cr_eq(read(alone_slave, &c, 1), 0);
	cr_eq(write(alone_slave, "x", 1), -1);
	cr_eq(errno, EIO);
	cr_eq(read(alone_master, &c, 1), -1);
	cr_eq(errno, EIO);
}

CR_TEST(.setup = setup, .verify = verify);
