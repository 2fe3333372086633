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
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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

static bool dump_sock_links_same(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	struct in_addr a4, b4;
	bool is4 = dump_sock_addr_v4(a, &a4);

	if (is4 != dump_sock_addr_v4(b, &b4))
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

/* May the peer be another node's? */
static bool dump_sock_links_may(const struct dump *d, const struct ifaddrs *ours,
				const struct state_sock *sock)
{
	return sock->sent && sock->file && state_sock_is_outside(sock) &&
	       !dump_external_name(d, sock->file) &&
	       !dump_sock_addr_is_narrow(state_sock_remote(sock)) &&
	       !dump_sock_links_is_here(ours, state_sock_remote(sock));
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
	dump_sock_addr_text(state_sock_own(sock), ret->own, sizeof(ret->own));
	dump_sock_addr_text(state_sock_remote(sock), ret->remote, sizeof(ret->remote));
}

/* *ret_links: what is to be told; malloc. Return: their number, or -errno. */
static int dump_sock_links_gather(struct dump *d, struct sock_link **ret_links)
{
	struct state *state = d->cap.state;
	struct ifaddrs *ours = NULL;
	struct sock_link *links;
	size_t room = state->nr_socks + SOCK_LINKS_MAX + 1;
	int nr = 0, places;

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
	places = dump_sock_places(d, ours, &links[nr], (unsigned int)room - (unsigned int)nr);
	freeifaddrs(ours);
	*ret_links = links;
	return places < 0 ? error_fail(d->error, places, "the connections of this node cannot be "
				       "listed: %s", strerror(-places)) : nr + places;
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

/* Has the socket received nothing since the module looked? A look must not take its error. */
static bool dump_sock_links_is_still(const struct state_sock *sock, int fd)
{
	int now = 0;

	return !ioctl(fd, SIOCINQ, &now) && (uint32_t)now == state_sock_unread(sock);
}

/*
 * No rule may cut a connection within the job, unless its other end has ended it.  What came after
 * the module looked is in no image, and a rule would lose it.
 */
static int dump_sock_links_unpaired(struct dump *d, const struct sock_link *link)
{
	struct state_sock *sock = state_sock_find(d->cap.state, link->sock);
	_cleanup_fd_ int fd = dump_file_fd(d, sock->file);

	if (fd < 0)
		return fd;
	if ((link->role == SOCK_LINK_NEAR || dump_sock_links_has_ended(fd)) &&
	    dump_sock_links_is_still(sock, fd))
		return 0;
	sock->linked = true;
	dump_sockets_refuse_link(&d->cap, sock, link->role == SOCK_LINK_NEAR ?
				 "has sent while the job stood still (try again)" :
				 "has no other end that could be saved", d->error);
	return 0;
}

static int dump_sock_links_decide(struct dump *d, const struct sock_link *link)
{
	if (link->link)
		return dump_sock_links_save(d, link);
	return link->remote[0] && link->role != SOCK_LINK_NONE ?
	       dump_sock_links_unpaired(d, link) : 0;
}

/* ---------------------------------------------------------------- all */

/* Has the tree a connection of TCP that leaves the node, as far as its address tells? */
static bool dump_sock_links_any(const struct dump *d)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (!state_sock_is_unix(&state->socks[i]) &&
		    !state_sock_is_datagram(&state->socks[i]) &&
		    state_sock_is_outside(&state->socks[i]) &&
		    !dump_sock_addr_is_narrow(state_sock_remote(&state->socks[i])))
			return true;
	return false;
}

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
	/* an older module does not tell what was sent, and a rule would cut the job's own */
	if (!d->cap.links && d->cap.sockets && dump_sock_links_any(d))
		return error_fail(d->error, -EOPNOTSUPP, "the module is older than ckptd: it "
				  "cannot save connections between nodes, and the rule for "
				  "sockets would cut them; load the newer module");
	nr = dump_sock_links_gather(d, &links);
	if (nr < 0)
		return nr;
	if (nr > SOCK_LINKS_MAX)
		return error_fail(d->error, -E2BIG, "the tree's connections to the outside, the "
				  "ports that it listens at and the addresses of this node are "
				  "more than %d", SOCK_LINKS_MAX);
	ret = d->options->links(d->options->hold_arg, links, (unsigned int)nr);
	if (ret)
		return error_fail(d->error, ret, "the nodes of the job did not agree on the "
				  "connections between them: %s", strerror(-ret));
	for (int i = 0; !ret && i < nr; i++)
		ret = dump_sock_links_decide(d, &links[i]);
	return ret ? ret : dump_sockets_check_rest(&d->cap, d->error);
}
