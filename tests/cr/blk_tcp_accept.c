// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in accept on a TCP socket: a client of the tree connects afterwards.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int listener;
static struct sockaddr_in addr = { .sin_family = AF_INET };
static pid_t child;

static void in_child(void)
{
	int fd = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));

	cr_sys(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	cr_eq(cr_sys(write(fd, "client", 6)), 6);
}

static void setup(void)
{
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	cr_sys(bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(getsockname(listener, (struct sockaddr *)&addr, &len));
	cr_sys(listen(listener, 4));
	child = cr_when_go(in_child);
}

static void block(void)
{
	int fd = (int)cr_sys(accept(listener, NULL, NULL));
	char buf[8];

	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), 6);
	cr_check(!memcmp(buf, "client", 6), "%.6s", buf);
	close(fd);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
