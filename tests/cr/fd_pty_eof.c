// SPDX-License-Identifier: GPL-2.0-only
/* A pseudoterminal with an end-of-file that nobody has read yet. */
#include <pty.h>
#include <termios.h>

#include "tests/cr/phase.h"

static int master, slave;

static void setup(void)
{
	struct termios t;

	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	cr_sys(tcgetattr(slave, &t));
	t.c_lflag = ICANON;
	t.c_cc[VEOF] = 4;
	cr_sys(tcsetattr(slave, TCSANOW, &t));
	cr_eq(cr_sys(write(master, "half\4", 5)), 5);
}

static void verify(void)
{
	char buf[64];

	cr_eq(cr_sys(read(slave, buf, sizeof(buf))), 4);
	cr_check(!memcmp(buf, "half", 4), "the line");
}

CR_TEST(.setup = setup, .verify = verify);
