// SPDX-License-Identifier: GPL-2.0-only
/*
 * Masters alone: one whose slave was closed reads EIO, one whose slave nobody has
 * opened yet waits; and one in packet mode.
 */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>

#include "tests/cr/phase.h"

static int closed, fresh, packet, slave;

static void check(void)
{
	struct pollfd fds[] = { { .fd = closed, .events = POLLIN },
				{ .fd = fresh, .events = POLLIN } };
	char buf[8];

	cr_eq(poll(fds, 2, 0), 1);
	cr_check(fds[0].revents & POLLHUP, "%#x", fds[0].revents);
	cr_eq(read(closed, buf, sizeof(buf)), -1);
	cr_eq(errno, EIO);
	cr_eq(cr_sys(write(slave, "x", 1)), 1);
	cr_eq(cr_sys(read(packet, buf, sizeof(buf))), 2);
	cr_eq(buf[0], TIOCPKT_DATA);
	cr_eq(buf[1], 'x');
}

static void setup(void)
{
	int on = 1;

	cr_sys(openpty(&closed, &slave, NULL, NULL, NULL));
	close(slave);
	fresh = (int)cr_sys(posix_openpt(O_RDWR | O_NOCTTY));
	cr_sys(openpty(&packet, &slave, NULL, NULL, NULL));
	cr_sys(ioctl(packet, TIOCPKT, &on));
	check();
}

static void verify(void)
{
	check();
	cr_sys(unlockpt(fresh));
	close((int)cr_sys(open(ptsname(fresh), O_RDWR | O_NOCTTY)));
}

CR_TEST(.setup = setup, .verify = verify);
