// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: connections of TCP to other nodes of the job, made again with these nodes.
 *
 * All parts of a restart are at this step at about the same time. One end of each link listens at
 * its own address, as the caller knows it for the node of now, and the other one connects, again
 * and again until the first one is there. Only a connection from the very address that the other
 * end is to have is taken, and only if that end says the right words (reopen_links_talk.c); all
 * others are turned away. Then each sends what the other's program has yet to read.
 *
 * Nothing of the tree is there yet but sockets: a link that cannot be made fails the restart, and
 * there is nothing to take back. The sockets of the tree that listen come later, as they would get
 * the connections.
 */
#include "engine/files/reopen_inet.h"
#include "engine/files/reopen_links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#define LINKS_MS	120000	/* until the part of another node must be as far */
#define BUSY_MS		60000	/* for which an ended connection may hold a port */
#define AGAIN_MS	50	/* between two attempts to connect */

struct reopen_links {
	struct reopen_link *links;
	unsigned int nr;
	struct {
		int fd;
		struct sockaddr_in6 own;	/* mapped */
		const struct reopen_link *link;	/* the first one that has it */
		bool bound;
		bool listens;	/* false: the port is not free yet */
	} *listeners;
	unsigned int nr_listeners;
	struct pollfd *polls;	/* listeners, then links */
	int64_t busy_until_ms;	/* until then a port that is in use may get free */
};

/* ---------------------------------------------------------------- addresses */

/* @addr as one of IPv6. */
static struct sockaddr_in6 reopen_links_wide(const struct sockaddr *addr)
{
	const struct sockaddr_in *in = (const void *)addr;
	struct sockaddr_in6 wide = { .sin6_family = AF_INET6 };

	if (addr->sa_family == AF_INET6)
		return *(const struct sockaddr_in6 *)(const void *)addr;
	wide.sin6_port = in->sin_port;
	wide.sin6_addr.s6_addr[10] = wide.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&wide.sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
	return wide;
}

static bool reopen_links_same(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b)
{
	return a->sin6_port == b->sin6_port &&
	       memcmp(&a->sin6_addr, &b->sin6_addr, sizeof(a->sin6_addr)) == 0;
}

static void reopen_links_text(const struct sockaddr_in6 *addr, char *buf, size_t size)
{
	if (IN6_IS_ADDR_V4MAPPED(&addr->sin6_addr))
		inet_ntop(AF_INET, &addr->sin6_addr.s6_addr[12], buf, (socklen_t)size);
	else
		inet_ntop(AF_INET6, &addr->sin6_addr, buf, (socklen_t)size);
}

/* The address @text with the port of @old, as one of IPv6. */
static bool reopen_links_parse(const char *text, const struct sockaddr *old,
			       struct sockaddr_in6 *ret)
{
	struct in_addr v4;

	*ret = reopen_links_wide(old);
	if (inet_pton(AF_INET, text, &v4) == 1) {
		memset(&ret->sin6_addr, 0, sizeof(ret->sin6_addr));
		ret->sin6_addr.s6_addr[10] = ret->sin6_addr.s6_addr[11] = 0xff;
		memcpy(&ret->sin6_addr.s6_addr[12], &v4, sizeof(v4));
		return true;
	}
	return inet_pton(AF_INET6, text, &ret->sin6_addr) == 1;
}

/* @addr as one of @family; false: there is none. */
static bool reopen_links_narrow(const struct sockaddr_in6 *addr, int family,
				struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (family == AF_INET6) {
		memcpy(ret, addr, sizeof(*addr));
		return true;
	}
	if (!IN6_IS_ADDR_V4MAPPED(&addr->sin6_addr))
		return false;
	in->sin_family = AF_INET;
	in->sin_port = addr->sin6_port;
	memcpy(&in->sin_addr, &addr->sin6_addr.s6_addr[12], sizeof(in->sin_addr));
	return true;
}

/* Are both in the network that @mask tells? Not through a mask of all bits: that is one address. */
static bool reopen_links_near(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b,
			      const struct sockaddr *netmask)
{
	const struct sockaddr_in *mask4 = (const void *)netmask;
	const struct sockaddr_in6 *mask6 = (const void *)netmask;
	uint8_t mask[16];
	bool whole = true;

	memset(mask, 0xff, sizeof(mask));
	if (netmask->sa_family == AF_INET)
		memcpy(&mask[12], &mask4->sin_addr, 4);
	else if (netmask->sa_family == AF_INET6)
		memcpy(mask, &mask6->sin6_addr, 16);
	for (unsigned int i = 0; i < sizeof(mask); i++) {
		if ((a->sin6_addr.s6_addr[i] ^ b->sin6_addr.s6_addr[i]) & mask[i])
			return false;
		whole &= mask[i] == 0xff;
	}
	return !whole;
}

int reopen_links_place(const struct state_sock *sock, char buf[SOCK_LINK_ADDR])
{
	struct sockaddr_in6 old = reopen_links_wide(state_sock_own(sock)), here, near = { 0 };
	struct ifaddrs *all, *one;
	bool same = false, found = false;

	if (getifaddrs(&all))
		return -errno;
	for (one = all; one; one = one->ifa_next) {
		if (!one->ifa_addr || (one->ifa_addr->sa_family != AF_INET &&
				       one->ifa_addr->sa_family != AF_INET6))
			continue;
		here = reopen_links_wide(one->ifa_addr);
		same |= memcmp(&here.sin6_addr, &old.sin6_addr, sizeof(here.sin6_addr)) == 0;
		if (found || !one->ifa_netmask || !(one->ifa_flags & IFF_UP) ||
		    one->ifa_flags & IFF_LOOPBACK || !reopen_links_near(&here, &old,
									one->ifa_netmask))
			continue;
		near = here;
		found = true;
	}
	freeifaddrs(all);
	if (!same && !found)
		return -EADDRNOTAVAIL;
	reopen_links_text(same ? &old : &near, buf, SOCK_LINK_ADDR);
	return 0;
}

/* ---------------------------------------------------------------- errors */

static int reopen_link_failed(struct reopen *r, const struct reopen_link *link, int err,
			      const char *why)
{
	char was[128], own[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];

	state_sock_text(link->sock, was, sizeof(was));
	reopen_links_text(&link->own, own, sizeof(own));
	reopen_links_text(&link->remote, remote, sizeof(remote));
	return error_fail(r->error, err, "the connection %s to another node of the job cannot be "
			  "made again from %s to %s: %s", was, own, remote, why);
}

static int reopen_link_error(struct reopen *r, const struct reopen_link *link, int err)
{
	const char *why = strerror(-err);

	if (err == -EADDRINUSE)
		why = "the port is in use here; end whoever has it";
	else if (err == -EADDRNOTAVAIL)
		why = "the address is not one of this node";
	else if (err == -EPROTO)
		why = "somebody else listens there; end whoever has that port";
	else if (err == -EBADMSG)
		why = "the images of both nodes do not fit together";
	else if (err == -ENOBUFS)
		why = "what nobody had read does not fit into the socket; raise net.core.wmem_max";
	else if (err == -ETIMEDOUT)
		why = "the part of the job there has not answered in time; do firewalls let "
		      "this port pass between the nodes?";
	return reopen_link_failed(r, link, err, why);
}

/* ---------------------------------------------------------------- begin */

static int reopen_links_by_number(const void *a, const void *b)
{
	const struct sock_link_place *x = a, *y = b;

	return (x->link > y->link) - (x->link < y->link);
}

/* Where both ends of the link are by now. */
static int reopen_link_begin(struct reopen *r, struct reopen_link *link)
{
	const struct sock_links *known = r->options->links;
	const struct state_sock *sock = link->sock;
	const struct sock_link_place key = { .link = sock->link->link }, *place;
	bool listens = sock->link->role == SOCK_LINK_LISTENS;
	int ret;

	link->fd = -1;
	link->own = reopen_links_wide(state_sock_own(sock));
	link->remote = reopen_links_wide(state_sock_remote(sock));
	place = known && known->nr ? bsearch(&key, known->places, known->nr, sizeof(key),
					     reopen_links_by_number) : NULL;
	if (!place)
		return reopen_link_failed(r, link, -EOPNOTSUPP, "only a restart of the whole job, "
					  "on as many nodes as it was on, makes it");
	if (!reopen_links_parse(listens ? place->listens : place->connects, state_sock_own(sock),
				&link->own) ||
	    !reopen_links_parse(listens ? place->connects : place->listens,
				state_sock_remote(sock), &link->remote) ||
	    !reopen_links_narrow(&link->own, sock->rec->family, &link->own_addr) ||
	    !reopen_links_narrow(&link->remote, sock->rec->family, &link->remote_addr))
		return reopen_link_failed(r, link, -EAFNOSUPPORT, "the addresses are of two kinds");
	ret = reopen_link_prepare(r, link);
	return ret ? reopen_link_error(r, link, ret) : 0;
}

/* Listen, or try again later: an ended connection has the port for a while. */
static int reopen_links_try_listen(struct reopen *r, struct reopen_links *l, unsigned int at)
{
	const struct reopen_link *link = l->listeners[at].link;
	int fd = l->listeners[at].fd;
	int ret = l->listeners[at].bound ? 0 : bind(fd, (const void *)&link->own_addr,
		       state_sock_addr_len(link->sock->rec->family)) ? -errno : 0;

	l->listeners[at].bound = !ret;
	if (!ret && listen(fd, SOMAXCONN))
		ret = -errno;
	if (ret == -EADDRINUSE && clock_monotonic_ms() < l->busy_until_ms)
		return 0;
	l->listeners[at].listens = !ret;
	return ret ? reopen_link_error(r, link, ret) : 0;
}

/* Listen at the own address of @link, unless a link before it does. */
static int reopen_links_listen(struct reopen *r, struct reopen_links *l,
			       const struct reopen_link *link)
{
	int fd;

	for (unsigned int i = 0; i < l->nr_listeners; i++)
		if (reopen_links_same(&l->listeners[i].own, &link->own))
			return 0;
	fd = reopen_inet_start(link->sock);
	if (fd < 0)
		return reopen_link_error(r, link, fd);
	l->listeners[l->nr_listeners].fd = fd;
	l->listeners[l->nr_listeners].own = link->own;
	l->listeners[l->nr_listeners].link = link;
	return reopen_links_try_listen(r, l, l->nr_listeners++);
}

static int reopen_links_begin(struct reopen *r, struct reopen_links *l)
{
	unsigned int nr = r->state->nr_socks;
	int ret = 0;

	l->busy_until_ms = clock_monotonic_ms() + BUSY_MS;
	l->links = calloc(nr + 1, sizeof(*l->links));
	l->listeners = calloc(nr + 1, sizeof(*l->listeners));
	l->polls = calloc(2 * (size_t)nr + 1, sizeof(*l->polls));
	if (!l->links || !l->listeners || !l->polls)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !ret && i < nr; i++) {
		const struct state_sock *sock = &r->state->socks[i];

		if (!state_sock_is_link(sock) || !reopen_sock_is_whole(sock))
			continue;
		l->links[l->nr].sock = sock;
		ret = reopen_link_begin(r, &l->links[l->nr++]);
	}
	for (unsigned int i = 0; !ret && i < l->nr; i++)
		if (l->links[i].sock->link->role == SOCK_LINK_LISTENS)
			ret = reopen_links_listen(r, l, &l->links[i]);
	return ret;
}

/* ---------------------------------------------------------------- meet */

static bool reopen_link_is_done(const struct reopen_link *link)
{
	return link->fd >= 0 && !link->connecting && link->out_at == link->out_len &&
	       link->in_at == link->in_len;
}

/* Forget the connection, which was not that of the other end, or came to nothing. */
static void reopen_link_drop(struct reopen_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	link->connecting = false;
	link->again_ms = clock_monotonic_ms() + AGAIN_MS;
	reopen_link_reset(link);
}

/* The other end may not be there yet. */
static bool reopen_link_may_come(int err)
{
	return err == -ECONNREFUSED || err == -ECONNRESET || err == -ETIMEDOUT ||
	       err == -EHOSTUNREACH || err == -ENETUNREACH || err == -EPIPE;
}

/* An ended connection may have the port, or the very same addresses, for a while. */
static bool reopen_link_may_get_free(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

static int reopen_link_connect(struct reopen_link *link)
{
	socklen_t len = state_sock_addr_len(link->sock->rec->family);
	int ret;

	link->fd = reopen_inet_start(link->sock);
	if (link->fd < 0)
		return link->fd;
	ret = reopen_inet_bind(link->fd, (struct sockaddr *)&link->own_addr, len);
	if (!ret && connect(link->fd, (struct sockaddr *)&link->remote_addr, len))
		ret = -errno;
	link->connecting = true;
	return ret == -EINPROGRESS ? 0 : ret;
}

/* The connection was made, or not. */
static int reopen_link_connected(struct reopen_link *link)
{
	socklen_t len = sizeof(int);
	int error = 0;

	link->connecting = false;
	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return -errno;
	return -error;
}

/* @patient: a port that is in use may get free. */
static int reopen_link_step(struct reopen *r, struct reopen_link *link, short events, bool patient)
{
	bool connects = link->sock->link->role == SOCK_LINK_CONNECTS;
	int ret = 0;

	if (link->fd < 0 && connects && clock_monotonic_ms() >= link->again_ms)
		ret = reopen_link_connect(link);
	else if (link->connecting && events)
		ret = reopen_link_connected(link);
	if (!ret && link->fd >= 0 && !link->connecting)
		ret = reopen_link_talk(r, link);
	if (ret >= 0)
		return 0;
	/* whoever connects to us may be a stranger, and the right one comes later */
	if (connects && !reopen_link_may_come(ret) && !(patient && reopen_link_may_get_free(ret)))
		return reopen_link_error(r, link, ret);
	reopen_link_drop(link);
	return 0;
}

/* Accept what has come at a listener; strangers are turned away. */
static void reopen_links_accept(struct reopen_links *l, unsigned int at)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int fd = accept4(l->listeners[at].fd, (struct sockaddr *)&addr, &len,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct sockaddr_in6 from;

	if (fd < 0)
		return;
	from = reopen_links_wide((struct sockaddr *)&addr);
	for (unsigned int i = 0; i < l->nr; i++) {
		struct reopen_link *link = &l->links[i];

		if (link->sock->link->role != SOCK_LINK_LISTENS || reopen_link_is_done(link) ||
		    !reopen_links_same(&link->own, &l->listeners[at].own) ||
		    !reopen_links_same(&link->remote, &from))
			continue;
		reopen_link_drop(link);
		link->fd = fd;
		return;
	}
	close(fd);
}

/* Wait for something to happen; false: all is done. */
static bool reopen_links_wait(struct reopen_links *l)
{
	unsigned int nr = 0, open = 0;

	for (unsigned int i = 0; i < l->nr_listeners; i++)
		l->polls[nr++] = (struct pollfd){
			.fd = l->listeners[i].listens ? l->listeners[i].fd : -1, .events = POLLIN,
		};
	for (unsigned int i = 0; i < l->nr; i++) {
		const struct reopen_link *link = &l->links[i];
		bool done = reopen_link_is_done(link);
		short events = POLLIN;

		if (link->connecting || link->out_at < reopen_link_may_say(link))
			events |= POLLOUT;
		l->polls[nr++] = (struct pollfd){ .fd = done ? -1 : link->fd, .events = events };
		open += !done;
	}
	if (open)
		poll(l->polls, nr, AGAIN_MS);
	return open;
}

static int reopen_links_meet(struct reopen *r, struct reopen_links *l)
{
	int64_t end = clock_monotonic_ms() + LINKS_MS;
	int ret = 0;

	while (!ret && reopen_links_wait(l)) {
		for (unsigned int i = 0; !ret && i < l->nr_listeners; i++) {
			if (!l->listeners[i].listens)
				ret = reopen_links_try_listen(r, l, i);
			else if (l->polls[i].revents)
				reopen_links_accept(l, i);
		}
		for (unsigned int i = 0; !ret && i < l->nr; i++) {
			if (reopen_link_is_done(&l->links[i]))
				continue;
			ret = reopen_link_step(r, &l->links[i],
					       l->polls[l->nr_listeners + i].revents,
					       clock_monotonic_ms() < l->busy_until_ms);
			if (!ret && clock_monotonic_ms() > end &&
			    !reopen_link_is_done(&l->links[i]))
				ret = reopen_link_error(r, &l->links[i], -ETIMEDOUT);
		}
	}
	return ret;
}

/* ---------------------------------------------------------------- end */

/* Send what was on its way, and hand the sockets over. */
static int reopen_links_hand_over(struct reopen *r, struct reopen_links *l)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < l->nr; i++) {
		struct reopen_sock *made = reopen_sock_of(r, l->links[i].sock);

		ret = reopen_link_fill(r, &l->links[i]);
		if (ret)
			return reopen_link_error(r, &l->links[i], ret);
		made->fd = l->links[i].fd;
		made->paired = true;
		l->links[i].fd = -1;
	}
	return ret;
}

int reopen_links(struct reopen *r)
{
	struct reopen_links l = { .nr = 0 };
	int ret = reopen_links_begin(r, &l);

	if (!ret)
		ret = reopen_links_meet(r, &l);
	for (unsigned int i = 0; i < l.nr_listeners; i++)
		close(l.listeners[i].fd);
	if (!ret)
		ret = reopen_links_hand_over(r, &l);
	for (unsigned int i = 0; i < l.nr; i++) {
		if (l.links[i].fd >= 0)
			close(l.links[i].fd);
		free(l.links[i].out);
		free(l.links[i].in);
	}
	free(l.links);
	free(l.listeners);
	free(l.polls);
	return ret;
}
