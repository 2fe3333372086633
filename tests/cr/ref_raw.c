// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a raw socket of ICMP.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (fd < 0)
		cr_skip("raw socket: %s", strerror(errno));
}

static void verify(void)
{
	int type;
	socklen_t len = sizeof(type);

	cr_sys(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len));
	cr_eq(type, SOCK_RAW);
}

CR_TEST(.setup = setup, .verify = verify);
