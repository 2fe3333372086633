// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets of TCP and UDP that share an address by SO_REUSEPORT, or have one that the node has not,
 * by IP_FREEBIND; of some the option is off by now.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

enum { NR = 3 };

static int tcp[NR], udp[2], far[4];

static int on(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	cr_sys(getsockopt(fd, level, name, &value, &len));
	return value;
}

static void turn(int fd, int level, int name, int value)
{
	cr_sys(setsockopt(fd, level, name, &value, sizeof(value)));
}

static int sharing(int type, struct sockaddr_in *addr)
{
	int fd = (int)cr_sys(socket(AF_INET, type, 0));
	socklen_t len = sizeof(*addr);

	turn(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	cr_sys(bind(fd, (struct sockaddr *)addr, len));
	if (type == SOCK_STREAM)
		cr_sys(listen(fd, 4));
	cr_sys(getsockname(fd, (struct sockaddr *)addr, &len));
	return fd;
}

static int elsewhere(int family, int type)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(4711) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(4711) };
	int fd = (int)cr_sys(socket(family, type, 0));

	inet_pton(AF_INET, "192.0.2.7", &in.sin_addr);
	inet_pton(AF_INET6, "2001:db8::7", &in6.sin6_addr);
	turn(fd, IPPROTO_IP, IP_FREEBIND, 1);
	if (family == AF_INET)
		cr_sys(bind(fd, (struct sockaddr *)&in, sizeof(in)));
	else
		cr_sys(bind(fd, (struct sockaddr *)&in6, sizeof(in6)));
	return fd;
}

static void setup(void)
{
	struct sockaddr_in addr[2] = {
		{ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
		{ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
	};

	for (int i = 0; i < NR; i++)
		tcp[i] = sharing(SOCK_STREAM, &addr[0]);
	for (int i = 0; i < 2; i++)
		udp[i] = sharing(SOCK_DGRAM, &addr[1]);
	turn(tcp[0], SOL_SOCKET, SO_REUSEPORT, 0);
	turn(tcp[1], SOL_SOCKET, SO_REUSEPORT, 0);
	turn(udp[0], SOL_SOCKET, SO_REUSEPORT, 0);
	far[0] = elsewhere(AF_INET, SOCK_DGRAM);
	far[1] = elsewhere(AF_INET6, SOCK_DGRAM);
	far[2] = elsewhere(AF_INET, SOCK_STREAM);
	far[3] = elsewhere(AF_INET6, SOCK_STREAM);
	turn(far[0], IPPROTO_IP, IP_FREEBIND, 0);
	turn(far[3], IPPROTO_IP, IP_FREEBIND, 0);
	cr_sys(listen(far[3], 1));
}

static void at_same_port(int a, int b)
{
	struct sockaddr_in one, other;
	socklen_t len = sizeof(one);

	cr_sys(getsockname(a, (struct sockaddr *)&one, &len));
	cr_sys(getsockname(b, (struct sockaddr *)&other, &len));
	cr_eq(one.sin_port, other.sin_port);
	cr_eq(one.sin_addr.s_addr, other.sin_addr.s_addr);
}

static void verify(void)
{
	struct sockaddr_in6 addr = { 0 };
	socklen_t len = sizeof(addr);

	for (int i = 0; i < NR; i++) {
		at_same_port(tcp[0], tcp[i]);
		cr_eq(on(tcp[i], SOL_SOCKET, SO_REUSEPORT), i == 2);
		cr_eq(on(tcp[i], SOL_SOCKET, SO_ACCEPTCONN), 1);
	}
	at_same_port(udp[0], udp[1]);
	cr_eq(on(udp[0], SOL_SOCKET, SO_REUSEPORT), 0);
	cr_eq(on(udp[1], SOL_SOCKET, SO_REUSEPORT), 1);
	for (int i = 0; i < 4; i++)
		cr_eq(on(far[i], IPPROTO_IP, IP_FREEBIND), i == 1 || i == 2);
	cr_sys(getsockname(far[3], (struct sockaddr *)&addr, &len));
	cr_eq(addr.sin6_port, htons(4711));
	cr_eq(addr.sin6_addr.s6_addr[15], 7);
}

CR_TEST(.setup = setup, .verify = verify);
