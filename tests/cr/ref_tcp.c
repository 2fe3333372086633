// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an established TCP connection over the loopback, a thread blocked in
 * accept beside it.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int listener, out, in;
static pthread_t thread;
static struct sockaddr_in addr = { .sin_family = AF_INET };

static void *accept_one(void *arg)
{
	return (void *)cr_sys(accept(listener, NULL, NULL));
}

static void connect_once(int fd)
{
	cr_sys(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static void setup(void)
{
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	cr_sys(bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(listen(listener, 4));
	cr_sys(getsockname(listener, (struct sockaddr *)&addr, &len));
	out = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	connect_once(out);
	in = (int)cr_sys(accept(listener, NULL, NULL));
	cr_eq(pthread_create(&thread, NULL, accept_one, NULL), 0);
}

static void verify(void)
{
	int late = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	char buf[8];
	void *fd;

	cr_eq(cr_sys(write(out, "hello", 5)), 5);
	cr_eq(cr_sys(read(in, buf, sizeof(buf))), 5);
	connect_once(late);
	cr_eq(pthread_join(thread, &fd), 0);
	cr_check((intptr_t)fd > 2, "accept");
}

CR_TEST(.setup = setup, .verify = verify);
