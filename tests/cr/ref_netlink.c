// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a netlink socket, which still answers.
 */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };

	fd = (int)cr_sys(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static void verify(void)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
	} ask = {
		{ .nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETLINK,
		  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		{ .rtgen_family = AF_UNSPEC },
	};
	char buf[16384];

	cr_sys(send(fd, &ask, sizeof(ask), 0));
	cr_check(cr_sys(recv(fd, buf, sizeof(buf), 0)) > 0, "no answer");
}

CR_TEST(.setup = setup, .verify = verify);
