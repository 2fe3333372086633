// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process whose session's leader is a zombie has no controlling terminal, though who
 * has adopted it has one.
 */
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static int master, slave;
static pid_t leader, member;

static void has_none(void)
{
	cr_eq(open("/dev/tty", O_RDWR), -1);
	cr_eq(errno, ENXIO);
}

static void in_member(void *arg)
{
	pid_t session = getsid(0);

	has_none();
	cr_mark("member");
	cr_wait_go();
	cr_eq(getsid(0), session);
	has_none();
}

static void in_leader(void *arg)
{
	pid_t pid;

	cr_sys(setsid());
	pid = cr_fork(in_member, NULL);
	cr_write_file(cr_path("pid"), &pid, sizeof(pid));
	_exit(3);
}

static void setup(void)
{
	char *text;

	cr_sys(prctl(PR_SET_CHILD_SUBREAPER, 1));
	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	if (getsid(0) != getpid())
		cr_sys(setsid());
	cr_sys(ioctl(slave, TIOCSCTTY, 0));
	leader = cr_fork(in_leader, NULL);
	cr_await_state(leader, 'Z');
	text = cr_read(cr_path("pid"), NULL);
	memcpy(&member, text, sizeof(member));
	free(text);
	cr_await("member");
}

static void verify(void)
{
	cr_sys(close(cr_sys(open("/dev/tty", O_RDWR))));
	cr_join(member);
	cr_eq(cr_wait_status(leader), 3 << 8);
}

CR_TEST(.setup = setup, .verify = verify);
