// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a UDP socket with IP options.
 */
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	static const uint8_t nop[4] = { 1, 1, 1, 0 };
	struct sockaddr_in addr = { .sin_family = AF_INET };

	fd = (int)cr_sys(socket(AF_INET, SOCK_DGRAM, 0));
	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(setsockopt(fd, IPPROTO_IP, IP_OPTIONS, nop, sizeof(nop)));
}

static void verify(void)
{
	uint8_t options[44];
	socklen_t len = sizeof(options);

	cr_sys(getsockopt(fd, IPPROTO_IP, IP_OPTIONS, options, &len));
	cr_eq(len, 4);
}

CR_TEST(.setup = setup, .verify = verify);
