// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling the sockets of TCP and UDP of an image again; reopen_sock_fill.c asks for each step.
 *
 * The unread bytes of a stream are written by its peer, or by the socket that stands in for a peer
 * that has gone.  The peer's kernel keeps what does not fit, as it did before.  A datagram is sent
 * once more from the address that it came from: by the socket of the tree that has the address,
 * or by one that is made for it.
 */
#include "engine/files/reopen_inet.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "base/cleanup.h"
#include "engine/core/sock_rules.h"

#define DELIVERED_MS	2000	/* within this node */
#define MEMINFO_DROPS	8	/* of SO_MEMINFO: datagrams that did not fit */
#define MEMINFO_NR	9

#ifndef SO_MEMINFO
#define SO_MEMINFO	55
#endif

/* ---------------------------------------------------------------- addresses */

/* The same address as one of IPv6. */
static struct sockaddr_in6 reopen_inet_wide(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	struct sockaddr_in6 wide = { .sin6_family = AF_INET6 };

	if (addr->sa_family == AF_INET6)
		return *(const struct sockaddr_in6 *)(const void *)addr;
	wide.sin6_port = in->sin_port;
	memset(&wide.sin6_addr.s6_addr[10], 0xff, 2);
	memcpy(&wide.sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
	return wide;
}

/* The same address as one of @family; 0: there is none. */
static socklen_t reopen_inet_as(const struct sockaddr *addr, int family,
				struct sockaddr_storage *ret)
{
	struct sockaddr_in6 wide = reopen_inet_wide(addr);
	struct sockaddr_in *in = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (family == AF_INET6) {
		memcpy(ret, &wide, sizeof(wide));
		return sizeof(wide);
	}
	if (!IN6_IS_ADDR_V4MAPPED(&wide.sin6_addr))
		return 0;
	in->sin_family = AF_INET;
	in->sin_port = wide.sin6_port;
	memcpy(&in->sin_addr, &wide.sin6_addr.s6_addr[12], sizeof(in->sin_addr));
	return sizeof(*in);
}

static bool reopen_inet_is_any(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_in6 *in6 = (const void *)addr;

	return addr->sa_family == AF_INET ? in->sin_addr.s_addr == INADDR_ANY :
					    IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

/* Could a socket that is bound to @own have sent from @from? */
static bool reopen_inet_sends_from(const struct sockaddr *own, const struct sockaddr *from)
{
	struct sockaddr_in6 a = reopen_inet_wide(own), b = reopen_inet_wide(from);

	return a.sin6_port == b.sin6_port &&
	       (reopen_inet_is_any(own) ||
		memcmp(&a.sin6_addr, &b.sin6_addr, sizeof(a.sin6_addr)) == 0);
}

/* ---------------------------------------------------------------- datagrams */

/* The socket of the tree that has sent from @from, or NULL. */
static const struct state_sock *reopen_inet_sender(const struct reopen *r,
						   const struct sockaddr *from)
{
	struct sockaddr_storage addr;

	for (unsigned int i = 0; i < r->state->nr_socks; i++) {
		const struct state_sock *sock = &r->state->socks[i];

		if (!state_sock_is_unix(sock) && state_sock_is_datagram(sock) &&
		    reopen_sock_is_whole(sock) && sock->rec->flags & CKPT_SOCK_NAMED &&
		    reopen_inet_as(from, sock->rec->family, &addr) &&
		    reopen_inet_sends_from(state_sock_own(sock), from))
			return sock;
	}
	return NULL;
}

/* Is it an address of many? A datagram to it would leave the node. */
static bool reopen_inet_is_many(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET) {
		in_addr_t to = ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr);

		return IN_MULTICAST(to) || to == INADDR_BROADCAST;
	}
	return IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* A socket of the kind of @sock for one datagram from @from; -errno. */
static int reopen_inet_ghost(const struct state_sock *sock, const struct sockaddr *from)
{
	int fd = reopen_inet_new(sock), one = 1, ret;

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, from, state_sock_addr_len(sock->rec->family))) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

/* Have @msg sent from the address @from: a socket may have several. */
static void reopen_inet_from(struct msghdr *msg, int family, const struct sockaddr_storage *from)
{
	struct cmsghdr *c = msg->msg_control;

	if (family == AF_INET) {
		struct in_pktinfo info = {
			.ipi_spec_dst = ((const struct sockaddr_in *)from)->sin_addr,
		};

		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		msg->msg_controllen = CMSG_SPACE(sizeof(info));
	} else {
		struct in6_pktinfo info = {
			.ipi6_addr = ((const struct sockaddr_in6 *)from)->sin6_addr,
		};

		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		c->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		msg->msg_controllen = CMSG_SPACE(sizeof(info));
	}
}

static uint32_t reopen_inet_drops(int fd)
{
	uint32_t info[MEMINFO_NR] = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) ? 0 : info[MEMINFO_DROPS];
}

int reopen_inet_datagram(struct reopen *r, const struct state_sock *sock,
			 const struct state_sock_msg *msg)
{
	socklen_t each = state_sock_addr_len(sock->rec->family);
	const struct sockaddr *from = (const struct sockaddr *)msg->name;
	const struct sockaddr *to = (const struct sockaddr *)(msg->name + each);
	const struct state_sock *sender = reopen_inet_sender(r, from);
	int family = sender ? sender->rec->family : sock->rec->family;
	struct iovec part = { (void *)(uintptr_t)msg->data, msg->rec->data_len };
	struct sockaddr_storage to_addr, from_addr;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { .room = { 0 } };
	struct msghdr out = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control };
	bool many = reopen_inet_is_many(to);
	_cleanup_fd_ int ghost = sender || many ? -1 : reopen_inet_ghost(sock, from);
	int fd = sender ? reopen_sock_fd(r, sender) : ghost, own = reopen_sock_fd(r, sock);

	if (many)
		return -EADDRNOTAVAIL;
	if (fd < 0)
		return fd;
	if (sender)
		reopen_sock_widen(reopen_sock_of(r, sender), fd);
	reopen_sock_widen(reopen_sock_of(r, sock), own);
	out.msg_name = &to_addr;
	out.msg_namelen = reopen_inet_as(to, family, &to_addr);
	if (!out.msg_namelen || !reopen_inet_as(from, family, &from_addr))
		return -EAFNOSUPPORT;
	reopen_inet_from(&out, family, &from_addr);
	if (sendmsg(fd, &out, MSG_DONTWAIT) != (ssize_t)msg->rec->data_len)
		return -errno;
	return reopen_inet_drops(own) ? -ENOBUFS : 0;
}

int reopen_inet_aim(struct reopen *r, const struct state_sock *sock)
{
	int ret = 0;

	if (!state_sock_is_datagram(sock) || sock->rec->state != CKPT_SOCK_CONNECTED)
		return 0;
	if (connect(reopen_sock_fd(r, sock), state_sock_remote(sock),
		    state_sock_addr_len(sock->rec->family)))
		ret = reopen_sock_failed(r, sock, -errno, "connect");
	return ret;
}

/* ---------------------------------------------------------------- waiting connections */

int reopen_inet_wait(struct reopen *r, const struct state_sock *sock)
{
	const struct state_sock *client = sock->peer;
	socklen_t len = state_sock_addr_len(sock->rec->family);
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int one = 1, fd, ret;

	if (client) {
		fd = reopen_sock_fd(r, client);
		ret = reopen_inet_connect(fd, state_sock_remote(client),
					  state_sock_addr_len(client->rec->family));
		if (!ret)
			reopen_sock_widen(reopen_sock_of(r, client), fd);
	} else {
		made->end = fd = reopen_inet_new(sock);
		ret = fd < 0 ? fd : 0;
		if (!ret && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
			ret = -errno;
		if (!ret)	/* if its port is taken, another will do: it has gone */
			reopen_inet_bind(fd, state_sock_remote(sock), len);
		if (!ret)
			ret = reopen_inet_connect(fd, state_sock_own(sock), len);
	}
	if (!ret)
		ret = reopen_sock_stream(r, sock, fd);
	return ret ? reopen_sock_failed(r, sock->listener, ret, "connect to") :
		     reopen_inet_part(r, sock);
}

/* ---------------------------------------------------------------- peers that have gone */

/* Wait until the peer has all that @fd sent. */
static int reopen_inet_deliver(int fd)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int left = 0;

	for (unsigned int i = 0; i < DELIVERED_MS; i++) {
		if (ioctl(fd, SIOCOUTQ, &left))
			return -errno;
		if (!left)
			return 0;
		nanosleep(&moment, NULL);
	}
	return -ENOBUFS;
}

static int reopen_inet_reset(int end, int error)
{
	const struct linger now = { .l_onoff = 1 };
	int ret = reopen_inet_deliver(end);

	/* after the end of the stream a reset is EPIPE, not ECONNRESET */
	if (!ret && error == EPIPE && shutdown(end, SHUT_WR))
		ret = -errno;
	if (!ret && error == EPIPE)
		ret = reopen_inet_deliver(end);
	if (!ret && setsockopt(end, SOL_SOCKET, SO_LINGER, &now, sizeof(now)))
		ret = -errno;
	return ret;
}

int reopen_inet_part(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	bool cut = sock->cut == SOCK_RULE_RESET, reset = cut || sock->rec->flags & CKPT_SOCK_RESET;
	bool ended = cut || sock->rec->flags & CKPT_SOCK_ENDED;
	int fd = sock->file ? reopen_sock_fd(r, sock) : -1, ret = 0, error;
	struct pollfd wait = { .fd = fd };
	socklen_t len = sizeof(error);

	if (made->end < 0)
		return 0;
	if (reset)
		ret = reopen_inet_reset(made->end, (int)sock->rec->error);
	if (!ret && ended && !reset && fd >= 0 && shutdown(fd, SHUT_WR))
		ret = -errno;
	close(made->end);
	made->end = -1;
	if (!ret && ended && fd >= 0 && poll(&wait, 1, DELIVERED_MS) != 1)
		ret = -ETIMEDOUT;
	if (!ret && reset && fd >= 0 && !cut && !sock->rec->error)
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return ret ? reopen_sock_failed(r, sock, ret, "end the connection of") : 0;
}

int reopen_inet_settle(struct reopen *r, const struct state_sock *sock, int fd)
{
	int zero = 0;

	(void)r;
	if (state_sock_is_datagram(sock))
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &zero, sizeof(zero)) ? -errno : 0;
}
