// SPDX-License-Identifier: GPL-2.0-only
/*
 * The listening socket of a partner server; see partner_listener.h.
 *
 * Owns the socket, and the visitors: connections that have not said hello yet. Nothing here
 * waits, and nobody can make it hold much: a stranger costs a hello's worth of memory for a
 * few seconds, the oldest visitor is dropped when there are too many, and when descriptors
 * run out nothing is accepted for a while.
 */
#include "supervisor/storage/partner_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "levels/partner_connect.h"
#include "base/leftover.h"

#define VISITORS_MAX	32	/* connections without a hello */
#define VISIT_MS	5000
#define BACKLOG		32
#define PAUSE_MS	1000	/* pause after a failed accept */

struct visitor {
	struct visitor *next;
	struct partner_listener *door;
	int fd;
	size_t have;
	struct partner_hello hello;
	struct reactor_source *source, *timer;
};

struct partner_listener {
	struct partner_listener_options options;
	partner_listener_fn fn;
	void *arg;
	int fd;
	uint16_t port;
	struct reactor_source *source;
	struct visitor *visitors;
	unsigned int nr_visitors;
	struct reactor_source *pause;	/* timer; NULL: accepting */
	int spare;			/* a descriptor to give up when none are left */
	bool said_full;
};

/* ---------------------------------------------------------------- visitors */

static void visitor_drop(struct visitor *v)
{
	struct visitor **at = &v->door->visitors;

	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	v->door->nr_visitors--;
	reactor_remove(v->source);
	reactor_remove(v->timer);
	if (v->fd >= 0)
		close(v->fd);
	free(v);
}

static void on_visit_over(void *arg)
{
	struct visitor *v = arg;

	v->timer = NULL;
	visitor_drop(v);
}

static void on_visitor(uint32_t events, void *arg)
{
	struct visitor *v = arg;
	ssize_t n = recv(v->fd, (uint8_t *)&v->hello + v->have, sizeof(v->hello) - v->have, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		v->have += (size_t)n;
		if (v->have < sizeof(v->hello))
			return;
		/* the socket may outlive this visitor, and would wake the loop for ever */
		reactor_remove(v->source);
		v->source = NULL;
		v->door->fn(&v->hello, take_fd(&v->fd), v->door->arg);
	}
	visitor_drop(v);
}

/* The list begins with the newest visitor. */
static struct visitor *oldest_visitor(const struct partner_listener *door)
{
	struct visitor *v = door->visitors;

	while (v->next)
		v = v->next;
	return v;
}

static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_pause_over(void *arg)
{
	struct partner_listener *door = arg;

	door->pause = NULL;
	door->spare = open_spare();
	reactor_events(door->source, EPOLLIN);
}

/*
 * Stop listening for a while: a connection that cannot be accepted would wake the loop for
 * ever.
 */
static void pause_listening(struct partner_listener *door, int error)
{
	/* the timer needs a descriptor */
	if (door->spare >= 0)
		close(door->spare);
	door->spare = -1;
	if (reactor_timer(door->options.reactor, PAUSE_MS, on_pause_over, door, &door->pause))
		return;
	reactor_events(door->source, 0);
	if (!door->said_full)
		log_warning(door->options.log, "store: connections cannot be accepted: %s",
			    strerror(error));
	door->said_full = true;
}

static void partner_listener_on_connection(uint32_t events, void *arg)
{
	struct partner_listener *door = arg;
	int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct reactor *reactor = door->options.reactor;
	struct visitor *v;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			pause_listening(door, errno);
		return;
	}
	door->said_full = false;
	if (door->nr_visitors == VISITORS_MAX)
		visitor_drop(oldest_visitor(door));
	v = calloc(1, sizeof(*v));
	if (!v) {
		close(fd);
		return;
	}
	*v = (struct visitor) { .next = door->visitors, .door = door, .fd = fd };
	door->visitors = v;
	door->nr_visitors++;
	partner_socket_options(fd);
	if (reactor_fd(reactor, fd, EPOLLIN, on_visitor, v, &v->source) ||
	    reactor_timer(reactor, VISIT_MS, on_visit_over, v, &v->timer))
		visitor_drop(v);
}

/* --------------------------------------------------------------- listening */

static int try_listen(const struct addrinfo *info, int *ret_fd)
{
	_cleanup_fd_ int fd =
		socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, none = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (info->ai_family == AF_INET6)	/* accept IPv4 as well */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof(none));
	if (bind(fd, info->ai_addr, info->ai_addrlen) || listen(fd, BACKLOG))
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Listen on "*" or an address, as `listen` has it; IPv6 first, as one such socket takes both. */
static int start_listening(struct partner_listener *door)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	const char *address = door->options.listen;
	static const int families[] = { AF_INET6, AF_INET };
	char host[256], port[12];
	struct addrinfo *all;
	size_t i;
	int err = -EADDRNOTAVAIL;

	snprintf(host, sizeof(host), "%s", address + (address[0] == '['));
	host[strcspn(host, "]")] = '\0';
	snprintf(port, sizeof(port), "%u", door->options.port);
	for (i = 0; err && i < ARRAY_SIZE(families); i++) {
		hints.ai_family = families[i];
		if (getaddrinfo(strcmp(host, "*") ? host : NULL, port, &hints, &all))
			continue;
		err = try_listen(all, &door->fd);
		freeaddrinfo(all);
	}
	return err;
}

static int find_port(struct partner_listener *door)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getsockname(door->fd, (struct sockaddr *)&address, &len))
		return -errno;
	door->port = ntohs(address.ss_family == AF_INET6 ?
			   ((struct sockaddr_in6 *)&address)->sin6_port :
			   ((struct sockaddr_in *)&address)->sin_port);
	return 0;
}

int partner_listener_open(const struct partner_listener_options *options, partner_listener_fn fn,
			  void *arg, struct partner_listener **ret_door)
{
	struct partner_listener *door = calloc(1, sizeof(*door));
	unsigned int waited_ms = 0;
	int err;

	if (!door)
		return -ENOMEM;
	*door = (struct partner_listener) {
		.options = *options, .fn = fn, .arg = arg, .fd = -1, .spare = -1,
	};
	do {
		err = start_listening(door);
	} while (leftover_wait(err, &waited_ms));
	if (!err)
		err = find_port(door);
	if (!err)
		err = reactor_fd(options->reactor, door->fd, EPOLLIN,
				 partner_listener_on_connection, door, &door->source);
	if (err) {
		partner_listener_close(door);
		return err;
	}
	door->spare = open_spare();
	*ret_door = door;
	return 0;
}

uint16_t partner_listener_port(const struct partner_listener *door)
{
	return door->port;
}

void partner_listener_close(struct partner_listener *door)
{
	if (!door)
		return;
	while (door->visitors)
		visitor_drop(door->visitors);
	reactor_remove(door->pause);
	reactor_remove(door->source);
	if (door->spare >= 0)
		close(door->spare);
	if (door->fd >= 0)
		close(door->fd);
	free(door);
}
