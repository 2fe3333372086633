// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of TCP to other nodes of the job, while the tree stands still: they are told to the
 * caller, who knows what the other nodes tell, and answers which of them are links.
 *
 * The bytes on their way are where sender or receiver has them.  The module has taken what the tree
 * has sent without an acknowledgement, before the caller is asked.  What the tree has received is
 * read after his answer, when the other nodes have done the same: what was acknowledged to them is
 * in the queue here by then.  A byte may be in both images, and none is in neither.
 *
 * All other connections to the outside are decided about by the rules (dump_sockets.c).
 */
#include "engine/dump/dump_sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/sock_link.h"
#include "engine/dump/dump_run.h"

/* States of <netinet/tcp.h>, which the kernel's headers hide. */
#define STATE_TIME_WAIT		6
#define STATE_CLOSE		7
#define STATE_CLOSE_WAIT	8
#define STATE_LAST_ACK		9
#define STATE_CLOSING		11

/* ---------------------------------------------------------------- candidates */

/* The IPv4 address that @addr is, as one of IPv6 or not; false: it is none. */
static bool dump_sock_links_v4(const struct sockaddr *addr, struct in_addr *ret)
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

/* Is it an address without a port, that is the same on all nodes, or has a meaning here alone? */
static bool dump_sock_links_is_narrow(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct in_addr v4;

	if (dump_sock_links_v4(addr, &v4))
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

static bool dump_sock_links_same(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	struct in_addr a4, b4;
	bool is4 = dump_sock_links_v4(a, &a4);

	if (is4 != dump_sock_links_v4(b, &b4))
		return false;
	if (is4)
		return a4.s_addr == b4.s_addr;
	return a->sa_family == AF_INET6 && b->sa_family == AF_INET6 &&
	       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static bool dump_sock_links_is_here(const struct ifaddrs *ours, const struct sockaddr *addr)
{
	for (; ours; ours = ours->ifa_next)
		if (ours->ifa_addr && dump_sock_links_same(ours->ifa_addr, addr))
			return true;
	return false;
}

static void dump_sock_links_text(const struct sockaddr *addr, char *buf, size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	char text[INET6_ADDRSTRLEN] = "";
	struct in_addr v4;

	if (dump_sock_links_v4(addr, &v4)) {
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

/* May the peer be another node's? */
static bool dump_sock_links_may(const struct dump *d, const struct ifaddrs *ours,
				const struct state_sock *sock)
{
	return sock->sent && sock->file && state_sock_is_outside(sock) &&
	       !dump_external_name(d, sock->file) &&
	       !dump_sock_links_is_narrow(state_sock_remote(sock)) &&
	       !dump_sock_links_is_here(ours, state_sock_remote(sock));
}

/* Tell the socket @sock, which listens, at @addr; 1, or 0: other nodes cannot reach it there. */
static int dump_sock_links_listens_at(const struct state_sock *sock, const struct sockaddr *addr,
				      struct sock_link *ret)
{
	struct sockaddr_storage at = { .ss_family = addr->sa_family };
	const struct sockaddr *own = state_sock_own(sock);

	if (!state_sock_addr_len(addr->sa_family) || dump_sock_links_is_narrow(addr))
		return 0;
	memcpy(&at, addr, state_sock_addr_len(addr->sa_family));
	/* the port is at the same place in both families */
	((struct sockaddr_in *)(void *)&at)->sin_port =
		((const struct sockaddr_in *)(const void *)own)->sin_port;
	*ret = (struct sock_link){ .sock = sock->rec->id };
	dump_sock_links_text((const struct sockaddr *)&at, ret->own, sizeof(ret->own));
	return 1;
}

static bool dump_sock_links_is_any(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	struct in_addr v4;

	if (dump_sock_links_v4(addr, &v4))
		return v4.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

/* Tell where @sock, which listens, can be reached; the number of links, at most @room. */
static unsigned int dump_sock_links_listens(const struct ifaddrs *ours,
					    const struct state_sock *sock, struct sock_link *ret,
					    unsigned int room)
{
	const struct sockaddr *own = state_sock_own(sock);
	unsigned int nr = 0;

	if (!dump_sock_links_is_any(own))
		return room ? (unsigned int)dump_sock_links_listens_at(sock, own, ret) : 0;
	for (; ours && nr < room; ours = ours->ifa_next)
		if (ours->ifa_addr && (own->sa_family == AF_INET6 ||
				       ours->ifa_addr->sa_family == AF_INET))
			nr += (unsigned int)dump_sock_links_listens_at(sock, ours->ifa_addr,
								       &ret[nr]);
	return nr;
}

static bool dump_sock_links_is_listener(const struct state_sock *sock)
{
	return !state_sock_is_unix(sock) && !state_sock_is_datagram(sock) &&
	       sock->rec->state == CKPT_SOCK_LISTENS;
}

static void dump_sock_links_describe(const struct dump *d, const struct state_sock *sock,
				     struct sock_link *ret)
{
	*ret = (struct sock_link){
		.sock = sock->rec->id,
		.accepted = state_sock_was_accepted(d->cap.state, sock),
		.got_seq = sock->sent->read_seq + state_sock_unread(sock),
		.end_seq = sock->sent->sent_seq + state_sock_sent(sock),
	};
	dump_sock_links_text(state_sock_own(sock), ret->own, sizeof(ret->own));
	dump_sock_links_text(state_sock_remote(sock), ret->remote, sizeof(ret->remote));
}

/* *ret_links: what is to be told; malloc. Return: their number, or -errno. */
static int dump_sock_links_gather(struct dump *d, struct sock_link **ret_links)
{
	struct state *state = d->cap.state;
	struct ifaddrs *ours = NULL;
	struct sock_link *links;
	size_t room = state->nr_socks + SOCK_LINKS_MAX + 1;
	int nr = 0;

	*ret_links = NULL;
	links = calloc(room, sizeof(*links));
	if (!links || getifaddrs(&ours)) {
		free(links);
		return error_fail(d->error, links ? -errno : -ENOMEM,
				  "the addresses of this node cannot be told: %s",
				  strerror(links ? errno : ENOMEM));
	}
	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (dump_sock_links_may(d, ours, &state->socks[i]))
			dump_sock_links_describe(d, &state->socks[i], &links[nr++]);
	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (dump_sock_links_is_listener(&state->socks[i]))
			nr += (int)dump_sock_links_listens(ours, &state->socks[i], &links[nr],
							   (unsigned int)room - (unsigned int)nr);
	freeifaddrs(ours);
	*ret_links = links;
	return nr;
}

/* ---------------------------------------------------------------- what was received */

/* Why the state that the socket has by now cannot be saved, or NULL. */
static const char *dump_sock_links_flaw(int fd)
{
	struct pollfd urgent = { .fd = fd, .events = POLLPRI };
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return "cannot be asked";
	if (info.tcpi_state == STATE_CLOSE)
		return "was reset while the job stood still";
	if (poll(&urgent, 1, 0) > 0 && urgent.revents & POLLPRI)
		return "has an urgent byte (MSG_OOB)";
	return NULL;
}

/* Copy what is unread to @buf, without taking it out; its length, or -errno. */
static ssize_t dump_sock_links_peek(int fd, uint8_t *buf, size_t size)
{
	int none = -1, before = -1;
	socklen_t len = sizeof(before);
	bool moved = !getsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &before, &len) && before >= 0;
	ssize_t got;

	if (moved && setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &none, sizeof(none)))
		return -errno;
	got = recv(fd, buf, size, MSG_PEEK | MSG_DONTWAIT);
	if (got < 0)
		got = errno == EAGAIN ? 0 : -errno;
	if (moved && setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &before, sizeof(before)))
		return -errno;
	return got;
}

/* Record the link with what the socket behind @fd has received since the module looked. */
static int dump_sock_links_record(struct dump *d, const struct state_sock *sock,
				  const struct sock_link *link, int fd, const char **ret_flaw)
{
	size_t size = CKPT_SOCK_QUEUE_MAX + 1, known = state_sock_unread(sock);
	_cleanup_free_ uint8_t *now = malloc(size), *then = malloc(known + 1);
	struct engine_rec_sock_link *rec;
	ssize_t got;

	if (!now || !then)
		return error_fail(d->error, -ENOMEM, "out of memory");
	*ret_flaw = dump_sock_links_flaw(fd);
	if (*ret_flaw)
		return 0;
	got = dump_sock_links_peek(fd, now, size);
	state_sock_copy_unread(sock, then);
	if (got < 0)
		return error_fail(d->error, (int)got, "cannot read a socket of the tree: %s",
				  strerror((int)-got));
	if ((size_t)got >= size)
		*ret_flaw = "has too many unread bytes";
	else if ((size_t)got < known || memcmp(now, then, known) != 0)
		*ret_flaw = "is being read by somebody outside";
	if (*ret_flaw)
		return 0;
	rec = dump_record_add(d, ENGINE_REC_SOCK_LINK, sizeof(*rec), now + known,
			      (size_t)got - known);
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->sock = sock->rec->id;
	rec->link = link->link;
	rec->role = link->role;
	rec->more_len = (uint32_t)((size_t)got - known);
	return 0;
}

static int dump_sock_links_save(struct dump *d, const struct sock_link *link)
{
	struct state_sock *sock = state_sock_find(d->cap.state, link->sock);
	const char *flaw = NULL;
	int ret;

	_cleanup_fd_ int fd = dump_file_fd(d, sock->file);

	if (fd < 0)
		return fd;
	sock->linked = true;
	ret = dump_sock_links_record(d, sock, link, fd, &flaw);
	if (flaw)
		dump_sockets_refuse_link(&d->cap, sock, flaw, d->error);
	return ret;
}

/* Has the other end said that it sends no more, or has it gone? */
static bool dump_sock_links_has_ended(int fd)
{
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	return info.tcpi_state == STATE_TIME_WAIT || info.tcpi_state == STATE_CLOSE ||
	       info.tcpi_state == STATE_CLOSE_WAIT || info.tcpi_state == STATE_LAST_ACK ||
	       info.tcpi_state == STATE_CLOSING;
}

/* No rule may cut a connection within the job, unless its other end has ended it. */
static int dump_sock_links_unpaired(struct dump *d, const struct sock_link *link)
{
	struct state_sock *sock = state_sock_find(d->cap.state, link->sock);
	_cleanup_fd_ int fd = dump_file_fd(d, sock->file);

	if (fd < 0)
		return fd;
	if (dump_sock_links_has_ended(fd))
		return 0;
	sock->linked = true;
	dump_sockets_refuse_link(&d->cap, sock, "has no other end that could be saved", d->error);
	return 0;
}

static int dump_sock_links_decide(struct dump *d, const struct sock_link *link)
{
	if (link->link)
		return dump_sock_links_save(d, link);
	return link->role == SOCK_LINK_UNPAIRED && link->remote[0] ?
	       dump_sock_links_unpaired(d, link) : 0;
}

/* ---------------------------------------------------------------- all */

bool dump_sock_links_wanted(const struct dump_options *options)
{
	return options->links && options->nr_nodes > 1;
}

int dump_sock_links(struct dump *d)
{
	_cleanup_free_ struct sock_link *links = NULL;
	int ret = 0, nr;

	if (!dump_sock_links_wanted(d->options))
		return 0;
	nr = dump_sock_links_gather(d, &links);
	if (nr < 0)
		return nr;
	if (nr > SOCK_LINKS_MAX)
		return error_fail(d->error, -E2BIG, "the tree has more than %d connections to "
				  "the outside and addresses that it listens at, more than "
				  "can be saved on one node", SOCK_LINKS_MAX);
	ret = d->options->links(d->options->hold_arg, links, (unsigned int)nr);
	if (ret)
		return error_fail(d->error, ret, "the nodes of the job did not agree on the "
				  "connections between them: %s", strerror(-ret));
	for (int i = 0; !ret && i < nr; i++)
		ret = dump_sock_links_decide(d, &links[i]);
	return ret ? ret : dump_sockets_check_rest(&d->cap, d->error);
}
