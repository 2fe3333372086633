// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pseudoterminal with bytes on their way in both directions, a line and a half
 * typed in, in canonical mode.
 */
#include <pty.h>
#include <termios.h>

#include "tests/cr/phase.h"

static int master, slave;

static void setup(void)
{
	struct termios raw;

	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	cr_sys(tcgetattr(slave, &raw));
	raw.c_lflag &= (tcflag_t)~ECHO;
	raw.c_oflag &= (tcflag_t)~OPOST;
	cr_sys(tcsetattr(slave, TCSANOW, &raw));
	cr_eq(cr_sys(write(master, "one\ntw", 6)), 6);
	cr_eq(cr_sys(write(slave, "output", 6)), 6);
}

static void verify(void)
{
	char buf[64];

	cr_eq(cr_sys(read(master, buf, sizeof(buf))), 6);
	cr_check(!memcmp(buf, "output", 6), "output");
	cr_eq(cr_sys(read(slave, buf, sizeof(buf))), 4);
	cr_check(!memcmp(buf, "one\n", 4), "first line");
	cr_eq(cr_sys(write(master, "o\n", 2)), 2);
	cr_eq(cr_sys(read(slave, buf, sizeof(buf))), 4);
	cr_check(!memcmp(buf, "two\n", 4), "second line");
}

CR_TEST(.setup = setup, .verify = verify);
