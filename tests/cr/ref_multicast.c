// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a UDP socket that has joined a multicast group.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;
static struct ip_mreqn group = { .imr_ifindex = 1 };

static void setup(void)
{
	fd = (int)cr_sys(socket(AF_INET, SOCK_DGRAM, 0));
	group.imr_multiaddr.s_addr = htonl(0xe00000fb);
	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
		cr_skip("IP_ADD_MEMBERSHIP: %s", strerror(errno));
}

static void verify(void)
{
	cr_eq(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)), -1);
	cr_eq(errno, EADDRINUSE);
}

CR_TEST(.setup = setup, .verify = verify);
