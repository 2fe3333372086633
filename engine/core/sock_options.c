// SPDX-License-Identifier: GPL-2.0-only
/*
 * The options of sockets; see sock_options.h.
 *
 * The sizes of buffers are kept as getsockopt(2) tells them, which is twice the value that
 * setsockopt(2) takes.  Setting a size locks it; the locks are put back as they were.
 */
#include "engine/core/sock_options.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>

#include "engine/core/rights.h"
#include "engine/core/sock_filter.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD	76
#endif
#define LOCK_SNDBUF	1	/* of SO_BUF_LOCK */
#define LOCK_RCVBUF	2

#ifndef UDP_GRO
#define UDP_SEGMENT	103
#define UDP_GRO		104
#endif

static const struct {
	int level, name;
} sock_options[] = {
	{ SOL_SOCKET, SO_REUSEADDR }, { SOL_SOCKET, SO_REUSEPORT },
	{ SOL_SOCKET, SO_PASSCRED }, { SOL_SOCKET, SO_PASSSEC }, { SOL_SOCKET, SO_PASSPIDFD },
	{ SOL_SOCKET, SO_RCVTIMEO }, { SOL_SOCKET, SO_SNDTIMEO },
	{ SOL_SOCKET, SO_RCVLOWAT }, { SOL_SOCKET, SO_PRIORITY }, { SOL_SOCKET, SO_MARK },
	{ SOL_SOCKET, SO_PEEK_OFF }, { SOL_SOCKET, SO_LINGER }, { SOL_SOCKET, SO_KEEPALIVE },
	{ SOL_SOCKET, SO_BROADCAST }, { SOL_SOCKET, SO_OOBINLINE }, { SOL_SOCKET, SO_DONTROUTE },
	{ SOL_SOCKET, SO_NO_CHECK }, { SOL_SOCKET, SO_TIMESTAMP }, { SOL_SOCKET, SO_TIMESTAMPNS },
	{ SOL_SOCKET, SO_RXQ_OVFL }, { SOL_SOCKET, SO_TIMESTAMPING }, { SOL_SOCKET, SO_ZEROCOPY },
	{ IPPROTO_IPV6, IPV6_V6ONLY }, { IPPROTO_IP, IP_FREEBIND }, { IPPROTO_IP, IP_TRANSPARENT },
	{ IPPROTO_IP, IP_TOS }, { IPPROTO_IP, IP_TTL }, { IPPROTO_IP, IP_MINTTL },
	{ IPPROTO_IP, IP_PKTINFO }, { IPPROTO_IP, IP_RECVTTL }, { IPPROTO_IP, IP_RECVTOS },
	{ IPPROTO_IP, IP_RECVORIGDSTADDR }, { IPPROTO_IP, IP_RECVERR },
	{ IPPROTO_IP, IP_MTU_DISCOVER }, { IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT },
	{ IPPROTO_IP, IP_MULTICAST_TTL }, { IPPROTO_IP, IP_MULTICAST_LOOP },
	{ IPPROTO_IP, IP_MULTICAST_ALL },
	{ IPPROTO_IPV6, IPV6_UNICAST_HOPS }, { IPPROTO_IPV6, IPV6_MULTICAST_HOPS },
	{ IPPROTO_IPV6, IPV6_MULTICAST_LOOP }, { IPPROTO_IPV6, IPV6_TCLASS },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO }, { IPPROTO_IPV6, IPV6_RECVHOPLIMIT },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS }, { IPPROTO_IPV6, IPV6_RECVERR },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER }, { IPPROTO_IPV6, IPV6_DONTFRAG },
	{ IPPROTO_TCP, TCP_NODELAY }, { IPPROTO_TCP, TCP_CORK }, { IPPROTO_TCP, TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL }, { IPPROTO_TCP, TCP_KEEPCNT },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT }, { IPPROTO_TCP, TCP_SYNCNT },
	{ IPPROTO_TCP, TCP_LINGER2 }, { IPPROTO_TCP, TCP_DEFER_ACCEPT },
	{ IPPROTO_TCP, TCP_NOTSENT_LOWAT }, { IPPROTO_TCP, TCP_CONGESTION },
	{ IPPROTO_TCP, TCP_FASTOPEN_CONNECT }, { IPPROTO_TCP, TCP_INQ },
	{ IPPROTO_UDP, UDP_SEGMENT }, { IPPROTO_UDP, UDP_GRO },
	{ SOL_SOCKET, SO_LOCK_FILTER },
	{ SOL_SOCKET, SO_SNDBUF }, { SOL_SOCKET, SO_RCVBUF }, { SOL_SOCKET, SO_BUF_LOCK },
};

_Static_assert(sizeof(sock_options) / sizeof(*sock_options) <= SOCK_OPTIONS_MAX, "options");

/* Read one option; false: the socket has no such option. */
static bool sock_option_get(int fd, int level, int name, struct engine_sock_option *ret)
{
	socklen_t len = sizeof(ret->value);

	*ret = (struct engine_sock_option){ .level = level, .name = name };
	if (getsockopt(fd, level, name, ret->value, &len))
		return false;
	ret->len = len;
	return true;
}

/*
 * Streams cannot have these set: TCP keeps the lifetime of the packet that began a connection in
 * the place of the multicast one.
 */
static bool sock_option_is_of_datagrams(int level, int name)
{
	return (level == IPPROTO_IP && (name == IP_MULTICAST_TTL || name == IP_MULTICAST_LOOP ||
					name == IP_MULTICAST_ALL)) ||
	       (level == IPPROTO_IPV6 && (name == IPV6_MULTICAST_HOPS ||
					  name == IPV6_MULTICAST_LOOP));
}

static bool sock_is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM;
}

unsigned int sock_options_get(int fd, int fresh, struct engine_sock_option *ret)
{
	const bool stream = sock_is_stream(fd);
	unsigned int nr = 0;

	for (unsigned int i = 0; i < sizeof(sock_options) / sizeof(*sock_options); i++) {
		struct engine_sock_option plain;

		if (stream && sock_option_is_of_datagrams(sock_options[i].level,
							  sock_options[i].name))
			continue;
		if (!sock_option_get(fd, sock_options[i].level, sock_options[i].name, &ret[nr]))
			continue;
		if (sock_option_get(fresh, ret[nr].level, ret[nr].name, &plain) &&
		    memcmp(&plain, &ret[nr], sizeof(plain)) == 0)
			continue;
		nr++;
	}
	return nr;
}

static bool sock_option_is_known(const struct engine_sock_option *option)
{
	for (unsigned int i = 0; i < sizeof(sock_options) / sizeof(*sock_options); i++)
		if (sock_options[i].level == option->level && sock_options[i].name == option->name)
			return true;
	return false;
}

/* Has @fd the value already? Some options can only be set before bind(2). */
static bool sock_option_is_set(int fd, const struct engine_sock_option *option)
{
	struct engine_sock_option now;

	return sock_option_get(fd, option->level, option->name, &now) &&
	       memcmp(&now, option, sizeof(now)) == 0;
}

/* Does the option decide whether and where bind(2) may bind? */
static bool sock_option_is_early(const struct engine_sock_option *option)
{
	return (option->level == SOL_SOCKET &&
		(option->name == SO_REUSEADDR || option->name == SO_REUSEPORT)) ||
	       (option->level == IPPROTO_IPV6 && option->name == IPV6_V6ONLY) ||
	       (option->level == IPPROTO_IP &&
		(option->name == IP_FREEBIND || option->name == IP_TRANSPARENT));
}

/* setsockopt(2), with more rights if it needs them. */
static int sock_option_raised(int fd, int level, int name, const void *value, socklen_t len)
{
	uint64_t before;
	int ret = setsockopt(fd, level, name, value, len) ? -errno : 0;

	if (ret == -EPERM && !rights_raise(RIGHTS_SOCKETS, &before)) {
		ret = setsockopt(fd, level, name, value, len) ? -errno : 0;
		rights_lower(before);
	}
	return ret;
}

/* The value of an option of one number, or @otherwise if it is not among @options. */
static int sock_option_number(const struct engine_sock_option *options, unsigned int nr, int name,
			      int otherwise)
{
	int value = otherwise;

	for (unsigned int i = 0; i < nr; i++)
		if (options[i].level == SOL_SOCKET && options[i].name == name &&
		    options[i].len == sizeof(value))
			memcpy(&value, options[i].value, sizeof(value));
	return value;
}

static bool sock_option_is_buffer(const struct engine_sock_option *option)
{
	return option->level == SOL_SOCKET &&
	       (option->name == SO_SNDBUF || option->name == SO_RCVBUF ||
		option->name == SO_BUF_LOCK);
}

/* Set a size; it may be larger than the owner may choose on this node. */
static int sock_option_size(int fd, int name, int force, int size)
{
	int value = size / 2, now = 0, ret;
	socklen_t len = sizeof(now);
	uint64_t before;

	if (size <= 0 || (getsockopt(fd, SOL_SOCKET, name, &now, &len) == 0 && now == size))
		return 0;
	ret = setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)) ? -errno : 0;
	if (ret || getsockopt(fd, SOL_SOCKET, name, &now, &len) || now >= size ||
	    rights_raise(RIGHTS_SOCKETS, &before))
		return ret;
	ret = setsockopt(fd, SOL_SOCKET, force, &value, sizeof(value)) ? -errno : 0;
	rights_lower(before);
	return ret;
}

int sock_options_buffers(int fd, int sndbuf, int rcvbuf, int locks)
{
	int ret = sock_option_size(fd, SO_SNDBUF, SO_SNDBUFFORCE, sndbuf);

	if (!ret)
		ret = sock_option_size(fd, SO_RCVBUF, SO_RCVBUFFORCE, rcvbuf);
	if (!ret && locks >= 0 && setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, sizeof(locks)))
		ret = -errno;
	return ret;
}

void sock_options_room(int fd)
{
	int most = INT_MAX / 2;
	uint64_t before;
	bool raised = !rights_raise(RIGHTS_SOCKETS, &before);

	if (!raised || setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &most, sizeof(most)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	if (!raised || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &most, sizeof(most)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
	if (raised)
		rights_lower(before);
}

/* Is it one of those that were on? Only these two decide about bind(2) and are often turned off. */
static bool sock_option_is_was_on(const struct engine_sock_option *option)
{
	return (option->level == SOL_SOCKET &&
		option->name == (SO_REUSEPORT | SOCK_OPTION_WAS_ON)) ||
	       (option->level == IPPROTO_IP &&
		option->name == (IP_FREEBIND | SOCK_OPTION_WAS_ON));
}

static int sock_option_turn(int fd, const struct engine_sock_option *option, int on)
{
	return sock_option_raised(fd, option->level, option->name & ~SOCK_OPTION_WAS_ON,
				  &on, sizeof(on));
}

bool sock_option_was_on(int fd, int level, int name, struct engine_sock_option *ret)
{
	int value = 0;

	if (!sock_option_get(fd, level, name, ret) || ret->len != sizeof(value))
		return false;
	memcpy(&value, ret->value, sizeof(value));
	ret->name |= SOCK_OPTION_WAS_ON;
	return !value;
}

int sock_options_set_early(int fd, const struct engine_sock_option *options, unsigned int nr)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < nr; i++) {
		if (sock_option_is_early(&options[i]))
			ret = sock_option_raised(fd, options[i].level, options[i].name,
						 options[i].value, options[i].len);
		else if (sock_option_is_was_on(&options[i]))
			ret = sock_option_turn(fd, &options[i], 1);
	}
	return ret;
}

int sock_options_set_late(int fd, const struct engine_sock_option *options, unsigned int nr)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < nr; i++)
		if (sock_option_is_was_on(&options[i]))
			ret = sock_option_turn(fd, &options[i], 0);
	return ret;
}

/* Set the sizes that the program has chosen; the kernel chooses those of TCP, if nobody does. */
static int sock_options_locked(int fd, const struct engine_sock_option *options, unsigned int nr)
{
	int locks = sock_option_number(options, nr, SO_BUF_LOCK, -1);
	int sndbuf = locks > 0 && locks & LOCK_SNDBUF ?
		     sock_option_number(options, nr, SO_SNDBUF, 0) : 0;
	int rcvbuf = locks > 0 && locks & LOCK_RCVBUF ?
		     sock_option_number(options, nr, SO_RCVBUF, 0) : 0;

	return sock_options_buffers(fd, sndbuf, rcvbuf, locks);
}

int sock_options_set(int fd, const struct engine_sock_option *options, unsigned int nr,
		     const struct engine_sock_option **ret_bad)
{
	int ret = 0;

	/* the options lock it, if it is locked */
	for (unsigned int i = 0; i < nr; i++)
		if (sock_filter_is_piece(&options[i])) {
			*ret_bad = &options[i];
			ret = sock_filter_set(fd, options, nr);
			break;
		}
	for (unsigned int i = 0; !ret && i < nr; i++) {
		if (sock_filter_is_piece(&options[i]) || sock_option_is_was_on(&options[i]))
			continue;
		*ret_bad = &options[i];
		if (!sock_option_is_known(&options[i]))
			return -EOPNOTSUPP;
		if (!sock_option_is_buffer(&options[i]) && !sock_option_is_set(fd, &options[i]))
			ret = sock_option_raised(fd, options[i].level, options[i].name,
						 options[i].value, options[i].len);
		if (ret == -ENOPROTOOPT)
			ret = -EOPNOTSUPP;
	}
	return ret ? ret : sock_options_locked(fd, options, nr);
}
