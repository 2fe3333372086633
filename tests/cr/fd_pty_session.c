// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session on a terminal of its own: a child leads it, with a foreground and a
 * background group; ^C typed at the master reaches the foreground only, and a
 * background read stops its group.
 */
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static int master, slave;
static pid_t leader;

static void in_foreground(void *arg)
{
	cr_mark("fore");
	for (;;)
		pause();
}

static void in_background(void *arg)
{
	char c;

	cr_mark("back");
	cr_wait_go();
	cr_await("interrupted");
	if (read(0, &c, 1) < 0)
		cr_fail("read");
}

static void lead(void *arg)
{
	pid_t fore, back;
	int status;

	cr_sys(setsid());
	cr_sys(ioctl(slave, TIOCSCTTY, 0));
	cr_sys(dup2(slave, 0));
	signal(SIGTTOU, SIG_IGN);
	fore = cr_fork(in_foreground, NULL);
	back = cr_fork(in_background, NULL);
	cr_sys(setpgid(fore, fore));
	cr_sys(setpgid(back, back));
	cr_await("fore");
	cr_await("back");
	cr_sys(tcsetpgrp(0, fore));
	cr_mark("leader");
	cr_eq(cr_wait_status(fore), SIGINT);
	cr_check(cr_go(), "too early");
	cr_mark("interrupted");
	cr_eq(cr_sys(waitpid(back, &status, WUNTRACED)), back);
	cr_check(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN, "%#x", status);
	cr_sys(kill(back, SIGKILL));
	cr_wait_status(back);
	cr_eq(tcgetsid(0), getpid());
}

static void setup(void)
{
	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	leader = cr_fork(lead, NULL);
	cr_await("leader");
}

static void verify(void)
{
	cr_eq(cr_sys(write(master, "\003", 1)), 1);
	cr_join(leader);
}

CR_TEST(.setup = setup, .verify = verify);
