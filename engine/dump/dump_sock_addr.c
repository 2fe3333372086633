// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of TCP, of both families, as nodes tell them to each other; see dump_sock.h.
 *
 * Owns nothing: an address is compared and printed as it is, or the kernel is asked whether it is
 * one of this node, and no name of the network is ever looked up.  One of IPv4 is the same in both
 * families.
 */
#include "engine/dump/dump_sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/core/state_sock.h"

bool dump_sock_addr_v4(const struct sockaddr *addr, struct in_addr *ret)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (addr->sa_family == AF_INET) {
		*ret = ((const struct sockaddr_in *)(const void *)addr)->sin_addr;
		return true;
	}
	if (addr->sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return false;
	memcpy(ret, &in6->sin6_addr.s6_addr[12], sizeof(*ret));
	return true;
}

bool dump_sock_addr_is_narrow(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct in_addr v4;

	if (dump_sock_addr_v4(addr, &v4))
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

bool dump_sock_addr_is_any(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct in_addr v4;

	if (dump_sock_addr_v4(addr, &v4))
		return v4.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

bool dump_sock_addr_is_here(const struct sockaddr *addr)
{
	_cleanup_fd_ int fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage any = { 0 };
	socklen_t len = state_sock_addr_len(addr->sa_family);

	if (fd < 0)
		return true;	/* it cannot be known */
	memcpy(&any, addr, len);
	if (addr->sa_family == AF_INET)
		((struct sockaddr_in *)(void *)&any)->sin_port = 0;
	else
		((struct sockaddr_in6 *)(void *)&any)->sin6_port = 0;
	return !bind(fd, (struct sockaddr *)&any, len) || errno != EADDRNOTAVAIL;
}

void dump_sock_addr_text(const struct sockaddr *addr, char *buf, size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	char text[INET6_ADDRSTRLEN] = "";
	struct in_addr v4;

	if (dump_sock_addr_v4(addr, &v4)) {
		inet_ntop(AF_INET, &v4, text, sizeof(text));
		snprintf(buf, size, "%s:%u", text,
			 ntohs(addr->sa_family == AF_INET ?
			       ((const struct sockaddr_in *)(const void *)addr)->sin_port :
			       in6->sin6_port));
		return;
	}
	inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	snprintf(buf, size, "[%s]:%u", text, ntohs(in6->sin6_port));
}
