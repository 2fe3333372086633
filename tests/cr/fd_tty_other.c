// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor of /dev/tty leads to the terminal that it was opened on, though the only
 * process that has it leads a session on another one by now.
 */
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tests/cr/phase.h"

static int master[2], slave[2], tty;
static pid_t opener;

static void take(int i)
{
	cr_sys(setsid());
	cr_sys(ioctl(slave[i], TIOCSCTTY, 0));
}

static void in_heir(void *arg)
{
	take(1);
	cr_mark("heir");
	cr_wait_go();
	cr_eq(cr_sys(write(tty, "first", 5)), 5);
	cr_mark("written");
}

static void in_opener(void *arg)
{
	pid_t heir;

	take(0);
	tty = (int)cr_sys(open("/dev/tty", O_RDWR));
	heir = cr_fork(in_heir, NULL);
	close(tty);
	cr_await("heir");
	cr_mark("opener");
	cr_join(heir);
}

static void setup(void)
{
	for (int i = 0; i < 2; i++)
		cr_sys(openpty(&master[i], &slave[i], NULL, NULL, NULL));
	opener = cr_fork(in_opener, NULL);
	cr_await("opener");
}

static void verify(void)
{
	int n[2];

	cr_await("written");
	cr_join(opener);
	/* the kernel hands on what was written when it comes to it */
	for (int tries = 0; tries < 5000; tries++) {
		for (int i = 0; i < 2; i++)
			cr_sys(ioctl(master[i], TIOCINQ, &n[i]));
		if (n[0] + n[1] >= 5)
			break;
		usleep(1000);
	}
	cr_eq(n[0], 5);
	cr_eq(n[1], 0);
}

CR_TEST(.setup = setup, .verify = verify);
