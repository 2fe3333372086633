// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a connection of TCP with a filter, which drops all that comes later. Restored, it might
 * drop segments that the connection has had already.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int listening, client, fd;

static void setup(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sock_filter drop = { BPF_RET | BPF_K, 0, 0, 0 };
	struct sock_fprog program = { 1, &drop };
	socklen_t len = sizeof(addr);

	listening = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	cr_sys(bind(listening, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(listen(listening, 1));
	cr_sys(getsockname(listening, (struct sockaddr *)&addr, &len));
	client = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	cr_sys(connect(client, (struct sockaddr *)&addr, len));
	fd = (int)cr_sys(accept4(listening, NULL, NULL, SOCK_NONBLOCK));
	cr_sys(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}

static void verify(void)
{
	char byte;

	cr_eq(cr_sys(write(client, "x", 1)), 1);
	cr_eq(read(fd, &byte, 1), -1);
	cr_eq(errno, EAGAIN);
}

CR_TEST(.setup = setup, .verify = verify);
