// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in connect to a unix socket whose queue of connections is full.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

static int listener, first;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static pid_t child;

static void in_child(void)
{
	int one = (int)cr_sys(accept(listener, NULL, NULL));
	int other = (int)cr_sys(accept(listener, NULL, NULL));
	char byte;

	cr_eq(cr_sys(read(other, &byte, 1)), 1);
	close(one);
}

static void setup(void)
{
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "cr-connect-%d", getpid());
	listener = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));
	cr_sys(bind(listener, (struct sockaddr *)&name, sizeof(name)));
	cr_sys(listen(listener, 0));
	first = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));
	cr_sys(connect(first, (struct sockaddr *)&name, sizeof(name)));
	child = cr_when_go(in_child);
}

static void block(void)
{
	int fd = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));

	cr_sys(connect(fd, (struct sockaddr *)&name, sizeof(name)));
	cr_eq(cr_sys(write(fd, "x", 1)), 1);
	close(fd);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
