// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix sockets whose peer was closed: unread bytes come first, then the end; a write fails; if the
 * peer had bytes unread, the survivor is told of a reset.
 */
#include <poll.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int clean[2], reset[2], packets[2];

static void setup(void)
{
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, clean));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, reset));
	cr_sys(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets));
	cr_eq(cr_sys(write(clean[1], "farewell", 8)), 8);
	cr_eq(cr_sys(write(reset[0], "unread", 6)), 6);
	cr_eq(cr_sys(write(packets[1], "ab", 2)), 2);
	cr_eq(cr_sys(write(packets[1], "cd", 2)), 2);
	close(clean[1]);
	close(reset[1]);
	close(packets[1]);
}

static void verify(void)
{
	struct pollfd ends[2] = { { .fd = clean[0], .events = POLLIN },
				  { .fd = reset[0], .events = POLLIN } };
	char buf[16];

	cr_eq(cr_sys(poll(ends, 2, 0)), 2);
	cr_eq(ends[0].revents, POLLIN | POLLHUP);
	cr_eq(ends[1].revents & (POLLERR | POLLHUP), POLLERR | POLLHUP);
	cr_eq(cr_sys(read(clean[0], buf, sizeof(buf))), 8);
	cr_eq(cr_sys(read(clean[0], buf, sizeof(buf))), 0);
	cr_eq(send(clean[0], "x", 1, MSG_NOSIGNAL), -1);
	cr_eq(errno, EPIPE);
	cr_eq(read(reset[0], buf, sizeof(buf)), -1);
	cr_eq(errno, ECONNRESET);
	cr_eq(cr_sys(read(reset[0], buf, sizeof(buf))), 0);
	cr_eq(cr_sys(read(packets[0], buf, sizeof(buf))), 2);
	cr_eq(cr_sys(read(packets[0], buf, sizeof(buf))), 2);
	cr_eq(cr_sys(read(packets[0], buf, sizeof(buf))), 0);
}

CR_TEST(.setup = setup, .verify = verify);
