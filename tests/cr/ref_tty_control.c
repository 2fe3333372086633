// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the controlling terminal of a session of the tree belongs to somebody
 * outside of it, though no descriptor leads there any more; it stays what it was.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tests/cr/phase.h"

static void check(void)
{
	int tty = (int)cr_sys(open("/dev/tty", O_RDWR));

	cr_eq(tcgetsid(tty), getsid(0));
	close(tty);
}

static void setup(void)
{
	int null = (int)cr_sys(open("/dev/null", O_RDWR));

	if (getsid(0) != getpid())
		cr_sys(setsid());
	cr_sys(ioctl(0, TIOCSCTTY, 0));
	cr_sys(dup2(null, 0));
	close(null);
	check();
}

CR_TEST(.setup = setup, .verify = check);
