// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the sockets of TCP and UDP of an image.
 *
 * A connection is made again by the calls that make one: a socket listens for it alone, at the
 * address that one end had, the other end connects from its own address, and the first one is
 * accepted.  Connections come before the sockets of the tree that listen, so that none of these
 * gets a connection that is not for it; a stranger that connects meanwhile is turned away, as if
 * the program were not there yet.  An end whose peer has gone gets one for now.
 *
 * Connections to other nodes of the job are there by then (reopen_links.c).
 *
 * All sockets of TCP have SO_REUSEADDR while they are made, as those that share a port could not
 * be bound one by one otherwise.  A port may be held by a connection that ended a moment ago, for
 * a minute; TCP_REPAIR, which needs rights, lets us have it.
 */
#include "engine/files/reopen_inet.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/rights.h"
#include "engine/core/sock_options.h"

#define CONNECT_MS	5000	/* a connection within this node */

#ifndef TCP_REPAIR_OFF_NO_WP
#define TCP_REPAIR_OFF_NO_WP	-1
#endif

int reopen_inet_new(const struct state_sock *sock)
{
	int fd = socket(sock->rec->family, sock->rec->type | SOCK_CLOEXEC | SOCK_NONBLOCK,
			sock->rec->protocol);

	return fd < 0 ? -errno : fd;
}

static socklen_t reopen_inet_len(const struct state_sock *sock)
{
	return state_sock_addr_len(sock->rec->family);
}

static bool reopen_inet_is_udp(const struct state_sock *sock)
{
	return state_sock_is_datagram(sock);
}

/* ---------------------------------------------------------------- calls */

static int reopen_inet_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/* Enter or leave the mode in which a port is had whoever else has it; needs rights. */
static int reopen_inet_force(int fd, int repair)
{
	uint64_t before;
	int ret;

	if (rights_raise(RIGHTS_SOCKETS, &before))
		return -EPERM;
	ret = reopen_inet_set(fd, IPPROTO_TCP, TCP_REPAIR, repair);
	rights_lower(before);
	return ret;
}

int reopen_inet_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	int ret = bind(fd, addr, len) ? -errno : 0;

	if (ret != -EADDRINUSE || reopen_inet_force(fd, 1))
		return ret;
	ret = bind(fd, addr, len) ? -errno : 0;
	if (reopen_inet_force(fd, TCP_REPAIR_OFF_NO_WP) && !ret)
		ret = -EPERM;
	/* leaving the mode has cleared the option */
	return ret ? ret : reopen_inet_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
}

static int reopen_inet_await(int fd, short events)
{
	struct pollfd wait = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&wait, 1, CONNECT_MS);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

int reopen_inet_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	socklen_t size = sizeof(int);
	int ret = connect(fd, addr, len) ? -errno : 0, error = 0;

	if (ret != -EINPROGRESS)
		return ret;
	ret = reopen_inet_await(fd, POLLOUT);
	if (!ret && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
		ret = -errno;
	return ret ? ret : -error;
}

/* Set the options that have to be set before bind(2). */
static int reopen_inet_prepare(const struct state_sock *sock, int fd)
{
	const struct engine_rec_sock_options *options = sock->options;
	int ret = 0;

	if (options)
		ret = sock_options_set_early(fd, (const void *)(options + 1), options->nr);
	if (!ret && !reopen_inet_is_udp(sock))
		ret = reopen_inet_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return ret;
}

int reopen_inet_start(const struct state_sock *sock)
{
	int fd = reopen_inet_new(sock), ret;

	if (fd < 0)
		return fd;
	ret = reopen_inet_prepare(sock, fd);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

/* ---------------------------------------------------------------- connections */

static bool reopen_inet_same(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/* Accept the connection whose client has the address @from; others are turned away. */
static int reopen_inet_accept(int listener, const struct sockaddr *from)
{
	for (;;) {
		struct sockaddr_storage addr;
		socklen_t len = sizeof(addr);
		int ret = reopen_inet_await(listener, POLLIN), fd;

		if (ret)
			return ret;
		fd = accept4(listener, (struct sockaddr *)&addr, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			return -errno;
		if (fd >= 0 && reopen_inet_same((struct sockaddr *)&addr, from))
			return fd;
		if (fd >= 0)
			close(fd);
	}
}

/* Listen at @addr for one connection. */
static int reopen_inet_listen(int fd, const struct sockaddr *addr, socklen_t len)
{
	int ret = bind(fd, addr, len) ? -errno : 0;

	if (!ret && listen(fd, 1))
		ret = -errno;
	return ret;
}

/* Make both ends of a connection of the tree; @server is the one that was accepted, if any was. */
static int reopen_inet_meet(struct reopen *r, const struct state_sock *server,
			    const struct state_sock *client)
{
	_cleanup_fd_ int listener = reopen_inet_start(server);
	struct reopen_sock *made = reopen_sock_of(r, client);
	int ret = listener < 0 ? listener :
		  reopen_inet_listen(listener, state_sock_own(server), reopen_inet_len(server));

	if (ret)
		return reopen_sock_failed(r, server, ret, "listen for");
	made->fd = reopen_inet_start(client);
	ret = made->fd < 0 ? made->fd :
	      reopen_inet_bind(made->fd, state_sock_own(client), reopen_inet_len(client));
	if (ret)
		return reopen_sock_failed(r, client, ret, "bind");
	ret = reopen_inet_connect(made->fd, state_sock_remote(client), reopen_inet_len(client));
	if (ret)
		return reopen_sock_failed(r, client, ret, "connect");
	ret = reopen_inet_accept(listener, state_sock_remote(server));
	if (ret < 0)
		return reopen_sock_failed(r, server, ret, "accept");
	reopen_sock_of(r, server)->fd = ret;
	return 0;
}

/* An address of the node itself, with any port, of the family of @sock. */
static socklen_t reopen_inet_loopback(const struct state_sock *sock, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (void *)ret;
	struct sockaddr_in6 *in6 = (void *)ret;
	const struct sockaddr_in6 *remote = (const void *)state_sock_remote(sock);

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = sock->rec->family;
	if (sock->rec->family == AF_INET) {
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*in);
	}
	in6->sin6_addr = in6addr_loopback;
	if (IN6_IS_ADDR_V4MAPPED(&remote->sin6_addr)) {
		in6->sin6_addr.s6_addr[0] = 0;
		memset(&in6->sin6_addr.s6_addr[10], 0xff, 2);
		memcpy(&in6->sin6_addr.s6_addr[12], (uint8_t[]){ 127, 0, 0, 1 }, 4);
	}
	return sizeof(*in6);
}

/*
 * A socket that listens for the connection of @sock, whose peer has gone: with the peer's address
 * if that is to be had here, or any other. With @elsewhere: with another.
 */
static int reopen_inet_stand_in(const struct state_sock *sock, bool elsewhere)
{
	struct sockaddr_storage addr;
	socklen_t len = reopen_inet_len(sock);
	int fd = reopen_inet_start(sock), ret;

	if (fd < 0 || (!elsewhere && !reopen_inet_listen(fd, state_sock_remote(sock), len)))
		return fd;
	close(fd);
	fd = reopen_inet_start(sock);
	if (fd < 0)
		return fd;
	len = reopen_inet_loopback(sock, &addr);
	ret = reopen_inet_listen(fd, (struct sockaddr *)&addr, len);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

/* Make @sock, and connect it with what listens; *ret_end is the other end. */
static int reopen_inet_join(const struct state_sock *sock, int listener, int *ret_end)
{
	_cleanup_fd_ int fd = reopen_inet_start(sock);
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int ret = fd < 0 ? fd : 0;

	if (!ret && getsockname(listener, (struct sockaddr *)&addr, &len))
		ret = -errno;
	if (ret)
		return ret;
	/* its own address may not be one of this node, and its port may be taken: it has ended */
	ret = reopen_inet_bind(fd, state_sock_own(sock), reopen_inet_len(sock));
	if (ret == -EADDRNOTAVAIL || ret == -EADDRINUSE || ret == -EACCES)
		ret = 0;
	if (!ret)
		ret = reopen_inet_connect(fd, (struct sockaddr *)&addr, len);
	len = sizeof(addr);
	if (!ret && getsockname(fd, (struct sockaddr *)&addr, &len))
		ret = -errno;
	if (!ret)
		ret = reopen_inet_accept(listener, (struct sockaddr *)&addr);
	if (ret < 0)
		return ret;
	*ret_end = ret;
	return take_fd(&fd);
}

/*
 * Make a socket whose peer has gone, and for now a peer. If the tree has the other end of the same
 * connection, and both have ended, the peer of the first has the addresses of the second: that one
 * is connected elsewhere.
 */
static int reopen_inet_alone(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int ret = -EADDRNOTAVAIL;

	for (int elsewhere = 0; ret == -EADDRNOTAVAIL && elsewhere < 2; elsewhere++) {
		_cleanup_fd_ int listener = reopen_inet_stand_in(sock, elsewhere);

		if (listener < 0)
			return reopen_sock_failed(r, sock, listener, "make a peer of");
		ret = reopen_inet_join(sock, listener, &made->end);
	}
	if (ret < 0)
		return reopen_sock_failed(r, sock, ret, "connect");
	made->fd = ret;
	return 0;
}

/* ---------------------------------------------------------------- which end listens */

static int reopen_inet_make_pair(struct reopen *r, const struct state_sock *sock)
{
	const struct state_sock *peer = sock->peer;

	if (!peer)
		return reopen_inet_alone(r, sock);
	reopen_sock_of(r, peer)->paired = true;
	return state_sock_was_accepted(r->state, peer) ? reopen_inet_meet(r, peer, sock) :
						   reopen_inet_meet(r, sock, peer);
}

/* ---------------------------------------------------------------- others */

/*
 * Is it the client of a connection that waits to be accepted? It is connected when all files are
 * open.
 */
static bool reopen_inet_is_waited_for(const struct state_sock *sock)
{
	return sock->peer && !sock->peer->file;
}

/* Make a socket that is not connected yet, or of UDP. */
static int reopen_inet_make(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	const struct engine_rec_sock_options *options = sock->options;
	const struct engine_sock_option *bad = NULL;
	int ret = 0;

	made->fd = reopen_inet_start(sock);
	if (made->fd < 0)
		return reopen_sock_failed(r, sock, made->fd, "make");
	if (sock->rec->flags & CKPT_SOCK_NAMED)
		ret = reopen_inet_is_waited_for(sock) ?
		      reopen_inet_bind(made->fd, state_sock_own(sock), reopen_inet_len(sock)) :
		      bind(made->fd, state_sock_own(sock), reopen_inet_len(sock)) ? -errno : 0;
	if (ret)
		return reopen_sock_failed(r, sock, ret, "bind");
	if (sock->rec->state != CKPT_SOCK_LISTENS)
		return 0;
	/* connections that wait to be accepted have them from here */
	if (options)
		ret = sock_options_set(made->fd, (const void *)(options + 1), options->nr, &bad);
	if (!ret)
		ret = reopen_inet_set(made->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (ret)
		return reopen_sock_not_set(r, sock, ret, bad);
	if (listen(made->fd, (int)sock->rec->backlog))
		return reopen_sock_failed(r, sock, -errno, "listen on");
	return 0;
}

int reopen_inets(struct reopen *r)
{
	int ret = 0;

	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; !ret && i < r->state->nr_socks; i++) {
			const struct state_sock *sock = &r->state->socks[i];
			bool pair = sock->rec->state == CKPT_SOCK_CONNECTED &&
				    !reopen_inet_is_udp(sock) && !reopen_inet_is_waited_for(sock);

			if (state_sock_is_unix(sock) || !reopen_sock_is_whole(sock) ||
			    pair == (round > 0) || reopen_sock_of(r, sock)->paired)
				continue;
			ret = pair ? reopen_inet_make_pair(r, sock) : reopen_inet_make(r, sock);
		}
	return ret;
}
