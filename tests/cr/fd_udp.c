// SPDX-License-Identifier: GPL-2.0-only
/*
 * UDP sockets, bound and connected, IPv4 and IPv6: unread datagrams, an empty one among them, with
 * the addresses that they came from, also of a sender that is gone; addresses and peers.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int receiver, sender, six[2];
static struct sockaddr_in to, from, gone;
static struct sockaddr_in6 to6;

static int bound(struct sockaddr_in *ret)
{
	int fd = (int)cr_sys(socket(AF_INET, SOCK_DGRAM, 0));
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET };
	ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_sys(bind(fd, (struct sockaddr *)ret, sizeof(*ret)));
	cr_sys(getsockname(fd, (struct sockaddr *)ret, &len));
	return fd;
}

static void setup_six(void)
{
	socklen_t len = sizeof(to6);

	to6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	for (int i = 0; i < 2; i++)
		six[i] = (int)cr_sys(socket(AF_INET6, SOCK_DGRAM, 0));
	cr_sys(bind(six[0], (struct sockaddr *)&to6, sizeof(to6)));
	cr_sys(getsockname(six[0], (struct sockaddr *)&to6, &len));
	cr_sys(connect(six[1], (struct sockaddr *)&to6, sizeof(to6)));
	cr_eq(cr_sys(send(six[1], "six", 3, 0)), 3);
}

static void setup(void)
{
	int fd;

	receiver = bound(&to);
	sender = bound(&from);
	cr_sys(connect(sender, (struct sockaddr *)&to, sizeof(to)));
	cr_eq(cr_sys(send(sender, "one", 3, 0)), 3);
	fd = bound(&gone);
	cr_sys(sendto(fd, "two", 3, 0, (struct sockaddr *)&to, sizeof(to)));
	close(fd);
	cr_eq(cr_sys(send(sender, "", 0, 0)), 0);
	cr_eq(cr_sys(send(sender, "four", 4, 0)), 4);
	setup_six();
}

static void receive(const char *want, const struct sockaddr_in *whose)
{
	struct sockaddr_in got;
	socklen_t len = sizeof(got);
	char buf[16];

	cr_eq(cr_sys(recvfrom(receiver, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&got,
			      &len)), strlen(want));
	cr_eq(memcmp(buf, want, strlen(want)), 0);
	cr_eq(got.sin_port, whose->sin_port);
	cr_eq(got.sin_addr.s_addr, whose->sin_addr.s_addr);
}

static void verify(void)
{
	struct sockaddr_in6 got;
	socklen_t len = sizeof(got);
	char buf[16];

	receive("one", &from);
	receive("two", &gone);
	receive("", &from);
	receive("four", &from);
	cr_eq(recv(receiver, buf, sizeof(buf), MSG_DONTWAIT), -1);
	cr_eq(cr_sys(send(sender, "five", 4, 0)), 4);
	receive("five", &from);
	cr_sys(getpeername(six[1], (struct sockaddr *)&got, &len));
	cr_eq(got.sin6_port, to6.sin6_port);
	cr_eq(cr_sys(recv(six[0], buf, sizeof(buf), MSG_DONTWAIT)), 3);
	cr_eq(memcmp(buf, "six", 3), 0);
}

CR_TEST(.setup = setup, .verify = verify);
