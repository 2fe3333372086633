// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a packet socket on an interface.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_ifindex = 1 };

	fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	if (fd < 0)
		cr_skip("AF_PACKET: %s", strerror(errno));
	addr.sll_protocol = htons(ETH_P_IP);
	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static void verify(void)
{
	struct sockaddr_ll addr;
	socklen_t len = sizeof(addr);

	cr_sys(getsockname(fd, (struct sockaddr *)&addr, &len));
	cr_eq(addr.sll_ifindex, 1);
}

CR_TEST(.setup = setup, .verify = verify);
