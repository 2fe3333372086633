// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session whose controlling terminal is open nowhere any more but at the master:
 * /dev/tty still opens it, and closing the master hangs the session up.
 */
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "tests/cr/phase.h"

static int master, slave;
static pid_t leader;

static void lead(void *arg)
{
	int tty;

	close(master);
	cr_sys(setsid());
	cr_sys(ioctl(slave, TIOCSCTTY, 0));
	close(slave);
	cr_mark("leader");
	cr_wait_go();
	tty = (int)cr_sys(open("/dev/tty", O_RDWR));
	cr_eq(cr_sys(write(tty, "up", 2)), 2);
	cr_mark("written");
	for (;;)
		pause();
}

static void setup(void)
{
	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	leader = cr_fork(lead, NULL);
	cr_await("leader");
	close(slave);
}

static void verify(void)
{
	char buf[8];

	cr_await("written");
	cr_eq(cr_sys(read(master, buf, sizeof(buf))), 2);
	cr_sys(close(master));
	cr_eq(cr_wait_status(leader), SIGHUP);
}

CR_TEST(.setup = setup, .verify = verify);
