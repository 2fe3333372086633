// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pair of pseudoterminals within the tree: settings, window size, a line typed
 * but not read, output not yet read by the master.
 */
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tests/cr/phase.h"

static int master, slave;
static struct termios before;

static void setup(void)
{
	struct winsize size = { 33, 111, 0, 0 };

	cr_sys(openpty(&master, &slave, NULL, NULL, &size));
	cr_sys(tcgetattr(slave, &before));
	before.c_lflag &= (tcflag_t)~ECHO;
	before.c_oflag &= (tcflag_t)~OPOST;
	before.c_cc[VINTR] = 7;
	cr_sys(tcsetattr(slave, TCSANOW, &before));
}

static void verify(void)
{
	struct winsize size;
	struct termios now;
	char buf[64];

	cr_sys(tcgetattr(slave, &now));
	cr_eq(now.c_lflag, before.c_lflag);
	cr_eq(now.c_oflag, before.c_oflag);
	cr_eq(now.c_iflag, before.c_iflag);
	cr_eq(now.c_cc[VINTR], 7);
	cr_sys(ioctl(slave, TIOCGWINSZ, &size));
	cr_eq(size.ws_row, 33);
	cr_eq(size.ws_col, 111);
	cr_check(isatty(slave), "isatty");
	cr_eq(cr_sys(write(master, "typed\n", 6)), 6);
	cr_eq(cr_sys(read(slave, buf, sizeof(buf))), 6);
	cr_check(!memcmp(buf, "typed\n", 6), "input");
	cr_eq(cr_sys(write(slave, "out\n", 4)), 4);
	cr_eq(cr_sys(read(master, buf, sizeof(buf))), 4);
	cr_check(!memcmp(buf, "out\n", 4), "output");
}

CR_TEST(.setup = setup, .verify = verify);
