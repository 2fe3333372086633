// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a socket that listens and has a filter, which still drops all.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sock_filter drop = { BPF_RET | BPF_K, 0, 0, 0 };
	struct sock_fprog program = { 1, &drop };

	fd = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(listen(fd, 1));
	cr_sys(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}

static void verify(void)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	int client = (int)cr_sys(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));

	cr_sys(getsockname(fd, (struct sockaddr *)&addr, &len));
	cr_eq(connect(client, (struct sockaddr *)&addr, len), -1);
	cr_eq(errno, EINPROGRESS);	/* its first packet is lost */
	cr_sys(close(client));
}

CR_TEST(.setup = setup, .verify = verify);
