// SPDX-License-Identifier: GPL-2.0-only
/*
 * The port by which restored ranks come to process management; see pm_port.h.
 *
 * A guest is a connection whose first line has not arrived yet.  Guests are few, have
 * little time, and are closed without an answer.  A number (token) works once.
 */
#include "shim/pm_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/pmi1.h"

#define GUESTS_MAX	64
#define GUEST_MS	10000
#define LINE_MAX_GUEST	64

struct guest {
	struct pm_port *port;
	struct guest *next, **link;
	struct reactor_source *source, *timer;
	int fd;
	size_t len;
	char line[LINE_MAX_GUEST];
};

struct pm_port {
	struct reactor *reactor;
	struct reactor_source *source;
	int listener;
	unsigned int number;
	uid_t uid;
	pm_port_fn fn;
	void *arg;
	struct guest *guests;
	unsigned int nr_guests;
	unsigned int nr;
	unsigned int token[];	/* by index; 0: the rank has connected */
};

static void guest_drop(struct guest *guest)
{
	reactor_remove(guest->source);
	reactor_remove(guest->timer);
	if (guest->fd >= 0)
		close(guest->fd);
	*guest->link = guest->next;
	if (guest->next)
		guest->next->link = guest->link;
	guest->port->nr_guests--;
	free(guest);
}

static void on_late(void *arg)
{
	struct guest *guest = arg;

	guest->timer = NULL;
	guest_drop(guest);
}

/* The guest's line is complete: hand the connection to the rank whose token it names. */
static void guest_admit(struct guest *guest)
{
	struct pm_port *port = guest->port;
	unsigned int token, i;
	int fd;

	/* A rank sends nothing more before the answer, so dropping the buffer loses nothing. */
	if (pmi1_parse_initack(guest->line, guest->len - 1, &token) || !token) {
		guest_drop(guest);
		return;
	}
	for (i = 0; i < port->nr && port->token[i] != token;)
		i++;
	if (i == port->nr) {
		guest_drop(guest);
		return;
	}
	port->token[i] = 0;
	fd = take_fd(&guest->fd);
	guest_drop(guest);
	port->fn(i, fd, port->arg);
}

static void on_guest(uint32_t events, void *arg)
{
	struct guest *guest = arg;
	ssize_t n = recv(guest->fd, guest->line + guest->len,
			 sizeof(guest->line) - guest->len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		guest_drop(guest);
		return;
	}
	guest->len += (size_t)n;
	if (guest->line[guest->len - 1] == '\n')
		guest_admit(guest);
	else if (guest->len == sizeof(guest->line))
		guest_drop(guest);
}

/* True if @uid owns the other end's socket, as the kernel lists sockets of this machine. */
static bool peer_is(int fd, uid_t uid)
{
	struct sockaddr_in peer, own;
	socklen_t len = sizeof(peer);
	_cleanup_free_ char *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	if (getpeername(fd, (struct sockaddr *)&peer, &len) || len != sizeof(peer))
		return false;
	len = sizeof(own);
	if (getsockname(fd, (struct sockaddr *)&own, &len) || len != sizeof(own))
		return false;
	f = fopen("/proc/net/tcp", "re");
	while (f && !found && getline(&line, &size, f) > 0) {
		unsigned int from, from_port, to, to_port, owner;

		found = sscanf(line, "%*d: %x:%x %x:%x %*x %*x:%*x %*x:%*x %*x %u",
			       &from, &from_port, &to, &to_port, &owner) == 5 &&
			from == peer.sin_addr.s_addr && from_port == ntohs(peer.sin_port) &&
			to == own.sin_addr.s_addr && to_port == ntohs(own.sin_port) &&
			owner == uid;
	}
	if (f)
		fclose(f);
	return found;
}

static void pm_port_on_listener(uint32_t events, void *arg)
{
	struct pm_port *port = arg;
	struct guest *guest;
	int fd = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	guest = port->nr_guests < GUESTS_MAX && peer_is(fd, port->uid) ?
		calloc(1, sizeof(*guest)) : NULL;
	if (!guest) {
		close(fd);
		return;
	}
	guest->port = port;
	guest->fd = fd;
	guest->next = port->guests;
	guest->link = &port->guests;
	if (guest->next)
		guest->next->link = &guest->next;
	port->guests = guest;
	port->nr_guests++;
	if (reactor_fd(port->reactor, fd, EPOLLIN, on_guest, guest, &guest->source) ||
	    reactor_timer(port->reactor, GUEST_MS, on_late, guest, &guest->timer))
		guest_drop(guest);
}

static int make_tokens(struct pm_port *port)
{
	unsigned int i, k;

	for (i = 0; i < port->nr; i++) {
		if (getrandom(&port->token[i], sizeof(port->token[i]), 0) !=
		    sizeof(port->token[i]))
			return -EIO;
		port->token[i] &= 0x7fffffff;
		for (k = 0; k < i && port->token[k] != port->token[i];)
			k++;
		i -= k < i || !port->token[i];	/* 0 or a duplicate: draw it again */
	}
	return 0;
}

static int listen_here(struct pm_port *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);

	port->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (port->listener < 0 ||
	    bind(port->listener, (struct sockaddr *)&addr, len) ||
	    listen(port->listener, 128) ||
	    getsockname(port->listener, (struct sockaddr *)&addr, &len))
		return -errno;
	port->number = ntohs(addr.sin_port);
	return reactor_fd(port->reactor, port->listener, EPOLLIN, pm_port_on_listener, port,
			  &port->source);
}

int pm_port_open(struct reactor *reactor, unsigned int nr, uid_t uid, pm_port_fn fn,
		 void *arg, struct pm_port **ret_port)
{
	struct pm_port *port = calloc(1, sizeof(*port) + nr * sizeof(port->token[0]));
	int err;

	if (!port)
		return -ENOMEM;
	port->reactor = reactor;
	port->nr = nr;
	port->uid = uid;
	port->fn = fn;
	port->arg = arg;
	port->listener = -1;
	err = make_tokens(port);
	if (!err)
		err = listen_here(port);
	if (err)
		pm_port_close(port);
	else
		*ret_port = port;
	return err;
}

void pm_port_close(struct pm_port *port)
{
	if (!port)
		return;
	while (port->guests)
		guest_drop(port->guests);
	reactor_remove(port->source);
	if (port->listener >= 0)
		close(port->listener);
	free(port);
}

unsigned int pm_port_number(const struct pm_port *port)
{
	return port->number;
}

unsigned int pm_port_token(const struct pm_port *port, unsigned int index)
{
	return port->token[index];
}
