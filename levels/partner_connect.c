// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting to a partner.
 *
 * The address is the hosts file's, which may be a name with several addresses; they are
 * tried one after the other.  Resolving a name may wait for its servers: this is for
 * workers, never for an event loop.
 */
#include "levels/partner_connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECT_MS	10000
#define SLICE_MS	100

struct attempt {
	unsigned int ms;
	bool (*cancelled)(void *arg);
	void *arg;
};

void partner_socket_options(int fd)
{
	static const struct { int option, value; } tcp[] = {
		{ TCP_NODELAY, 1 }, { TCP_KEEPIDLE, 30 }, { TCP_KEEPINTVL, 10 },
		{ TCP_KEEPCNT, 3 },
	};
	int one = 1;
	size_t i;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	for (i = 0; i < ARRAY_SIZE(tcp); i++)
		setsockopt(fd, IPPROTO_TCP, tcp[i].option, &tcp[i].value, sizeof(int));
}

/* Connected, or why not. */
static int partner_connect_await(int fd, const struct attempt *a)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	unsigned int waited;
	socklen_t size = sizeof(int);
	int err = 0;

	for (waited = 0; waited < a->ms; waited += SLICE_MS) {
		if (a->cancelled && a->cancelled(a->arg))
			return -ECANCELED;
		if (poll(&p, 1, SLICE_MS) <= 0)
			continue;
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size);
		return -err;
	}
	return -ETIMEDOUT;
}

static int try_address(const struct addrinfo *info, const struct attempt *a)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	partner_socket_options(fd);
	err = connect(fd, info->ai_addr, info->ai_addrlen) ? -errno : 0;
	if (err == -EINPROGRESS)
		err = partner_connect_await(fd, a);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int partner_connect(const struct partner_ticket *t, unsigned int idle_ms,
		    bool (*cancelled)(void *arg), void *arg, struct ckpt_error *error)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV,
	};
	struct attempt a = {
		.ms = idle_ms && idle_ms < CONNECT_MS ? idle_ms : CONNECT_MS,
		.cancelled = cancelled, .arg = arg,
	};
	char address[sizeof(t->address)] = "", port[8];
	struct addrinfo *all, *i;
	size_t len = strlen(t->address);
	int ret;

	/* brackets of IPv6 are the file's, not the resolver's */
	if (t->address[0] == '[' && len > 2)
		memcpy(address, t->address + 1, len - 2);
	else
		memcpy(address, t->address, len + 1);
	snprintf(port, sizeof(port), "%u", t->port);
	ret = getaddrinfo(address, port, &hints, &all);
	if (ret)
		return error_set(error, -EHOSTUNREACH, "%.63s: %.100s: %s", t->node,
				       address, gai_strerror(ret));
	ret = -EHOSTUNREACH;
	for (i = all; i && ret < 0 && ret != -ECANCELED; i = i->ai_next)
		ret = try_address(i, &a);
	freeaddrinfo(all);
	if (ret == -ECANCELED)
		return error_set(error, ret, "cancelled");
	if (ret < 0)
		error_set(error, ret,
			  "%.63s: %.90s port %s: %s: does a firewall let it through (store_port of "
			  "its ckptd.conf)?",
			  t->node, t->address, port, strerror(-ret));
	return ret;
}
