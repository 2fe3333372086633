// SPDX-License-Identifier: GPL-2.0-only
/*
 * FIFOs whose readers did not wait for a writer: where none has come yet there is no
 * hangup to be seen, where one has gone there is; one of them is deleted.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fresh, gone, removed, left;

static int make(const char *name)
{
	cr_sys(mkfifo(cr_path(name), 0600));
	return (int)cr_sys(open(cr_path(name), O_RDONLY | O_NONBLOCK));
}

static int events(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	cr_sys(poll(&p, 1, 0));
	return p.revents;
}

static void look(void)
{
	cr_eq(cr_sys(fcntl(fresh, F_GETPIPE_SZ)), 8192);
	cr_eq(events(fresh), 0);
	cr_eq(events(removed), 0);
	cr_eq(events(gone), POLLHUP);
	cr_eq(events(left), POLLIN | POLLHUP);
}

static void setup(void)
{
	int wr;

	fresh = make("fresh");
	cr_eq(cr_sys(fcntl(fresh, F_SETPIPE_SZ, 8192)), 8192);
	removed = make("removed");
	cr_sys(unlink(cr_path("removed")));
	gone = make("gone");
	cr_sys(close((int)cr_sys(open(cr_path("gone"), O_WRONLY))));
	left = make("left");
	wr = (int)cr_sys(open(cr_path("left"), O_WRONLY));
	cr_eq(cr_sys(write(wr, "left", 4)), 4);
	cr_sys(close(wr));
	look();
}

static void verify(void)
{
	char buf[8];
	int wr;

	look();
	wr = (int)cr_sys(open(cr_path("fresh"), O_WRONLY));
	cr_eq(cr_sys(write(wr, "x", 1)), 1);
	cr_eq(events(fresh), POLLIN);
	cr_sys(close(wr));
	cr_eq(cr_sys(read(fresh, buf, sizeof(buf))), 1);
	cr_eq(events(fresh), POLLHUP);
	cr_eq(cr_sys(read(left, buf, sizeof(buf))), 4);
	cr_eq(events(left), POLLHUP);
}

CR_TEST(.setup = setup, .verify = verify);
