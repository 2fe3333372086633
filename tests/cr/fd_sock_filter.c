// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters of sockets: of UDP, of a pair of unix sockets, of a socket of TCP before it is connected,
 * and one that is locked. Datagrams from before the filter are there, later ones have to pass.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

enum { HEADER = 8 };	/* of UDP: a filter sees it before the data */

static int udp, pair[2], tcp;

/* Lets datagrams pass that begin with @letter behind @header bytes; of an odd number of lines. */
static void filter(int fd, unsigned int header, char letter)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_B | BPF_ABS, 0, 0, header },
		{ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (unsigned char)letter },
		{ BPF_RET | BPF_K, 0, 0, 0 },
		{ BPF_RET | BPF_K, 0, 0, 0xffff },
		{ BPF_RET | BPF_K, 0, 0, 0 },
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	cr_sys(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}

static void lines(int fd, unsigned int first, int nr)
{
	struct sock_filter code[16] = { 0 };
	socklen_t len = 16;

	cr_sys(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, code, &len));
	cr_eq((int)len, nr);
	if (nr)
		cr_eq(code[0].k, first);
}

static void at_port(int fd, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);

	cr_sys(getsockname(fd, (struct sockaddr *)addr, &len));
}

static void send_udp(const char *text)
{
	struct sockaddr_in addr;

	at_port(udp, &addr);
	cr_eq(cr_sys(sendto(udp, text, 1, 0, (struct sockaddr *)&addr, sizeof(addr))), 1);
}

static void setup(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1;

	udp = (int)cr_sys(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
	cr_sys(bind(udp, (struct sockaddr *)&addr, sizeof(addr)));
	send_udp("b");			/* would not pass any more */
	filter(udp, HEADER, 'a');
	cr_sys(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair));
	filter(pair[1], 0, 'a');
	cr_sys(setsockopt(pair[1], SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)));
	tcp = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	filter(tcp, 0, 'a');
}

static void verify(void)
{
	int value = 0;
	socklen_t len = sizeof(value);
	char buf[8];

	lines(udp, HEADER, 5);
	lines(pair[0], 0, 0);
	lines(pair[1], 0, 5);
	lines(tcp, 0, 5);
	send_udp("b");
	send_udp("a");
	cr_eq(cr_sys(recv(udp, buf, 1, 0)), 1);
	cr_eq(buf[0], 'b');
	cr_eq(cr_sys(recv(udp, buf, 1, 0)), 1);
	cr_eq(buf[0], 'a');
	cr_eq(recv(udp, buf, 1, 0), -1);
	cr_eq(cr_sys(write(pair[0], "b", 1)), 1);	/* the sender is not told */
	cr_eq(cr_sys(write(pair[0], "a", 1)), 1);
	cr_eq(cr_sys(read(pair[1], buf, 1)), 1);
	cr_eq(buf[0], 'a');
	cr_sys(getsockopt(pair[1], SOL_SOCKET, SO_LOCK_FILTER, &value, &len));
	cr_eq(value, 1);
	cr_eq(setsockopt(pair[1], SOL_SOCKET, SO_DETACH_FILTER, &value, sizeof(value)), -1);
	cr_eq(errno, EPERM);
}

CR_TEST(.setup = setup, .verify = verify);
