// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP with both ends in the tree: a connection with unread bytes both ways, one that is half
 * closed, one whose peer was closed after it wrote, one that was reset; a socket that listens with
 * connections that wait, one of them closed again, and a thread in accept.  Addresses and options
 * are as they were.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

enum { PLAIN, HALF, GONE, RESET, NR };

static int listener, backlog, client[NR], server[NR], pending[3];
static uint16_t client_port[NR];
static struct sockaddr_in addr = { .sin_family = AF_INET };
static pthread_t thread;

static void *accept_one(void *arg)
{
	return (void *)cr_sys(accept(listener, NULL, NULL));
}

static int listen_anywhere(struct sockaddr_in *ret)
{
	int fd = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET };
	ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_sys(bind(fd, (struct sockaddr *)ret, sizeof(*ret)));
	cr_sys(listen(fd, 4));
	cr_sys(getsockname(fd, (struct sockaddr *)ret, &len));
	return fd;
}

static int connect_to(const struct sockaddr_in *to)
{
	int fd = (int)cr_sys(socket(AF_INET, SOCK_STREAM, 0));

	cr_sys(connect(fd, (const struct sockaddr *)to, sizeof(*to)));
	return fd;
}

static uint16_t port_of(int fd, bool peer)
{
	struct sockaddr_in got;
	socklen_t len = sizeof(got);

	cr_sys(peer ? getpeername(fd, (struct sockaddr *)&got, &len) :
		      getsockname(fd, (struct sockaddr *)&got, &len));
	cr_eq(got.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	return got.sin_port;
}

static struct sockaddr_in backlog_addr;

static void setup(void)
{
	const struct linger now = { .l_onoff = 1 };
	int one = 1, idle = 77;

	listener = listen_anywhere(&addr);
	backlog = listen_anywhere(&backlog_addr);
	for (int i = 0; i < NR; i++) {
		client[i] = connect_to(&addr);
		server[i] = (int)cr_sys(accept(listener, NULL, NULL));
		client_port[i] = port_of(client[i], false);
	}
	cr_sys(setsockopt(server[PLAIN], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	cr_sys(setsockopt(server[PLAIN], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)));
	cr_sys(setsockopt(server[PLAIN], IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)));
	cr_eq(cr_sys(write(client[PLAIN], "to server", 9)), 9);
	cr_eq(cr_sys(write(server[PLAIN], "to client", 9)), 9);
	cr_eq(cr_sys(write(client[HALF], "the end", 7)), 7);
	cr_sys(shutdown(client[HALF], SHUT_WR));
	cr_eq(cr_sys(write(client[GONE], "last words", 10)), 10);
	close(client[GONE]);
	cr_sys(setsockopt(client[RESET], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	close(client[RESET]);
	for (int i = 0; i < 3; i++) {
		pending[i] = connect_to(&backlog_addr);
		cr_eq(cr_sys(write(pending[i], &i, sizeof(i))), sizeof(i));
	}
	close(pending[1]);
	cr_eq(pthread_create(&thread, NULL, accept_one, NULL), 0);
}

static void receive(int fd, const char *want)
{
	char buf[32];

	cr_eq(cr_sys(read(fd, buf, sizeof(buf))), strlen(want));
	cr_eq(memcmp(buf, want, strlen(want)), 0);
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	cr_sys(getsockopt(fd, level, name, &value, &len));
	return value;
}

static void check_pending(void)
{
	for (int i = 0; i < 3; i++) {
		int fd = (int)cr_sys(accept(backlog, NULL, NULL)), got = -1;

		cr_eq(port_of(fd, false), backlog_addr.sin_port);
		cr_eq(cr_sys(read(fd, &got, sizeof(got))), sizeof(got));
		cr_eq(got, i);
		if (i == 1) {
			cr_eq(cr_sys(read(fd, &got, sizeof(got))), 0);
			continue;
		}
		cr_eq(cr_sys(write(fd, "hi", 2)), 2);
		receive(pending[i], "hi");
	}
}

static void check_ended(void)
{
	char byte;

	receive(server[HALF], "the end");
	receive(server[HALF], "");
	cr_eq(cr_sys(write(server[HALF], "answer", 6)), 6);
	receive(client[HALF], "answer");
	cr_eq(send(client[HALF], "x", 1, MSG_NOSIGNAL), -1);
	receive(server[GONE], "last words");
	receive(server[GONE], "");
	cr_eq(read(server[RESET], &byte, 1), -1);
	cr_eq(errno, ECONNRESET);
	receive(server[RESET], "");
}

static void verify(void)
{
	void *fd;

	cr_eq(port_of(server[PLAIN], true), client_port[PLAIN]);
	cr_eq(port_of(client[PLAIN], false), client_port[PLAIN]);
	cr_eq(port_of(client[PLAIN], true), addr.sin_port);
	cr_eq(option(server[PLAIN], IPPROTO_TCP, TCP_NODELAY), 1);
	cr_eq(option(client[PLAIN], IPPROTO_TCP, TCP_NODELAY), 0);
	cr_eq(option(server[PLAIN], SOL_SOCKET, SO_KEEPALIVE), 1);
	cr_eq(option(server[PLAIN], IPPROTO_TCP, TCP_KEEPIDLE), 77);
	cr_eq(option(client[PLAIN], SOL_SOCKET, SO_REUSEADDR), 0);
	cr_eq(option(listener, SOL_SOCKET, SO_REUSEADDR), 0);
	receive(server[PLAIN], "to server");
	receive(client[PLAIN], "to client");
	check_ended();
	check_pending();
	connect_to(&addr);
	cr_eq(pthread_join(thread, &fd), 0);
	cr_check((intptr_t)fd > 2, "accept");
}

CR_TEST(.setup = setup, .verify = verify);
