// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the unix sockets of an image: names, listening, connections.
 *
 * Sockets with names come first, those whose file had been removed before those whose file is to
 * stay, as both may have had one path, and may need it (reopen_sock_name.c).  Then pairs: two ends
 * without a name by socketpair(2); else one end was accepted from a listening socket, whose name it
 * has, and it is accepted again, from that socket or, if that is gone, from one that is made for
 * the purpose.  A socket whose peer has gone gets one for now.
 *
 * Connections that wait to be accepted are made last (reopen_sock_fill.c), or they would be
 * accepted here.
 */
#include "engine/files/reopen_inet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

bool reopen_sock_is_whole(const struct state_sock *sock)
{
	return sock && sock->file && !sock->file->external &&
	       (!state_sock_is_outside(sock) ||
		state_sock_is_link(sock) ||
		(state_sock_is_cut(sock) && !state_sock_is_unix(sock)));
}

void reopen_sock_name_text(const struct state_sock *sock, char *buf, size_t size)
{
	if (!state_sock_is_unix(sock))
		state_sock_text(sock, buf, size);
	else if (sock->rec->name_len && !sock->name[0])
		snprintf(buf, size, "@%.*s", (int)sock->rec->name_len - 1, sock->name + 1);
	else
		snprintf(buf, size, "%.*s", (int)sock->rec->name_len, sock->name);
}

int reopen_sock_failed(struct reopen *r, const struct state_sock *sock, int err, const char *what)
{
	const char *advice = "";
	char name[112];

	reopen_sock_name_text(sock, name, sizeof(name));
	if (err == -EADDRINUSE && !state_sock_is_unix(sock))
		advice = "; end whoever has that address now; a connection that has just ended "
			 "holds it for a minute";
	else if (err == -EADDRNOTAVAIL)
		advice = "; restart on a node that has the address";
	else if (err == -EADDRINUSE)
		advice = "; end whoever has that name now, or remove the file";
	else if (err == -ENOENT)
		advice = "; make the directory that it was in";
	else if (err == -EMFILE || err == -ENFILE)
		advice = "; raise the limit of open files";
	return error_fail(r->error, err, "cannot %s the socket %s: %s%s", what,
			  name[0] ? name : "without a name", strerror(-err), advice);
}

int reopen_sock_not_set(struct reopen *r, const struct state_sock *sock, int err,
			const struct engine_sock_option *bad)
{
	char what[64] = "set the options of";

	if (bad)
		snprintf(what, sizeof(what), "set option %d of level %d of", bad->name, bad->level);
	return reopen_sock_failed(r, sock, err, what);
}

int reopen_sock_new(const struct state_sock *sock)
{
	int fd = socket(AF_UNIX, sock->rec->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static bool reopen_sock_has_name(const struct state_sock *sock)
{
	return sock->rec->flags & CKPT_SOCK_NAMED;
}

const struct state_sock *reopen_sock_listener(const struct reopen *r, const struct state_sock *sock)
{
	for (unsigned int i = 0; i < r->state->nr_socks; i++) {
		const struct state_sock *other = &r->state->socks[i];

		if (state_sock_is_unix(other) && reopen_sock_is_whole(other) &&
		    other->rec->state == CKPT_SOCK_LISTENS &&
		    other->rec->type == sock->rec->type && state_sock_same_name(other, sock))
			return other;
	}
	return NULL;
}

/* ---------------------------------------------------------------- one by one */

/* Is it made together with its peer? */
static bool reopen_sock_in_pair(const struct state_sock *sock)
{
	const struct state_sock *peer = sock->peer;

	if (sock->rec->flags & CKPT_SOCK_PEER_GONE)
		return !state_sock_is_datagram(sock) || !reopen_sock_has_name(sock);
	if (!peer || !peer->file)
		return false;
	if (!state_sock_is_datagram(sock))
		return true;
	return peer != sock && peer->peer == sock && !reopen_sock_has_name(sock) &&
	       !reopen_sock_has_name(peer);
}

static int reopen_sock_make(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int ret = 0;

	made->fd = reopen_sock_new(sock);
	if (made->fd < 0)
		return reopen_sock_failed(r, sock, made->fd, "make");
	if (reopen_sock_has_name(sock))
		ret = reopen_sock_bind(r, sock, made->fd, &made->place);
	if (!ret && sock->rec->state == CKPT_SOCK_LISTENS &&
	    listen(made->fd, (int)sock->rec->backlog))
		ret = reopen_sock_failed(r, sock, -errno, "listen on");
	return ret;
}

/* Make the sockets that are not made in pairs; @unlinked: those whose file had been removed. */
static int reopen_socks_make(struct reopen *r, bool unlinked)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_socks; i++) {
		const struct state_sock *sock = &r->state->socks[i];

		if (state_sock_is_unix(sock) && reopen_sock_is_whole(sock) &&
		    !reopen_sock_in_pair(sock) &&
		    !(sock->rec->flags & CKPT_SOCK_UNLINKED) == !unlinked)
			ret = reopen_sock_make(r, sock);
	}
	return ret;
}

/* ---------------------------------------------------------------- pairs */

static int reopen_sock_pair(struct reopen *r, const struct state_sock *sock, int *ends)
{
	if (socketpair(AF_UNIX, sock->rec->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return reopen_sock_failed(r, sock, -errno, "make");
	return 0;
}

/* Connect @client, and accept it as @server from the socket that listens as @listener, @place. */
static int reopen_sock_accept(struct reopen *r, const struct state_sock *server, int client,
			      int listener, int place)
{
	struct sockaddr_un addr;
	socklen_t len = reopen_sock_address(server, place, &addr);
	int ret = reopen_sock_connect(client, &addr, len);

	if (ret)
		return reopen_sock_failed(r, server, ret, "connect to");
	ret = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (ret < 0)
		return reopen_sock_failed(r, server, -errno, "accept from");
	reopen_sock_of(r, server)->fd = ret;
	return 0;
}

/* Make @server, which was accepted from a socket of its name, with @client as its other end. */
static int reopen_sock_serve(struct reopen *r, const struct state_sock *server, int client)
{
	const struct state_sock *listener = reopen_sock_listener(r, server);
	int place = -1, ret;

	if (listener)
		return reopen_sock_accept(r, server, client, reopen_sock_of(r, listener)->fd,
					  reopen_sock_of(r, listener)->place);
	_cleanup_fd_ int fd = reopen_sock_new(server);

	if (fd < 0)
		return reopen_sock_failed(r, server, fd, "make");
	ret = reopen_sock_bind(r, server, fd, &place);
	if (!ret && listen(fd, 1))
		ret = reopen_sock_failed(r, server, -errno, "listen on");
	if (!ret)
		ret = reopen_sock_accept(r, server, client, fd, place);
	reopen_sock_of(r, server)->place = place;
	return ret;
}

/* Make both ends, of which at least one has a name. */
static int reopen_sock_meet(struct reopen *r, const struct state_sock *a,
			    const struct state_sock *b)
{
	bool a_serves = reopen_sock_has_name(a) &&
			(!reopen_sock_has_name(b) || !reopen_sock_listener(r, b));
	const struct state_sock *server = a_serves ? a : b, *client = a_serves ? b : a;
	int ret = reopen_sock_make(r, client);

	return ret ? ret : reopen_sock_serve(r, server, reopen_sock_of(r, client)->fd);
}

/* Make a socket whose peer has gone, and for now a peer. */
static int reopen_sock_make_alone(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int ends[2], ret;

	if (!reopen_sock_has_name(sock)) {
		ret = reopen_sock_pair(r, sock, ends);
		if (ret)
			return ret;
		made->fd = ends[0];
		made->end = ends[1];
		return 0;
	}
	made->end = reopen_sock_new(sock);
	if (made->end < 0)
		return reopen_sock_failed(r, sock, made->end, "make");
	return reopen_sock_serve(r, sock, made->end);
}

static int reopen_sock_make_both(struct reopen *r, const struct state_sock *a)
{
	const struct state_sock *b = a->peer;
	int ends[2], ret;

	reopen_sock_of(r, a)->paired = true;
	if (!b)
		return reopen_sock_make_alone(r, a);
	reopen_sock_of(r, b)->paired = true;
	if (reopen_sock_has_name(a) || reopen_sock_has_name(b))
		return reopen_sock_meet(r, a, b);
	ret = reopen_sock_pair(r, a, ends);
	if (ret)
		return ret;
	reopen_sock_of(r, a)->fd = ends[0];
	reopen_sock_of(r, b)->fd = ends[1];
	return 0;
}

int reopen_socks(struct reopen *r)
{
	int ret = reopen_socks_make(r, true);

	if (!ret)
		ret = reopen_socks_make(r, false);
	for (unsigned int i = 0; !ret && i < r->state->nr_socks; i++) {
		const struct state_sock *sock = &r->state->socks[i];

		if (state_sock_is_unix(sock) && reopen_sock_is_whole(sock) &&
		    reopen_sock_in_pair(sock) &&
		    !reopen_sock_of(r, sock)->paired)
			ret = reopen_sock_make_both(r, sock);
	}
	return ret ? ret : reopen_inets(r);
}

/* ---------------------------------------------------------------- files */

/*
 * Make a socket whose peer has gone: a stream reads its end, and a write fails.  Only such
 * clients are in an image that connect again then.
 */
static int reopen_sock_orphan(struct reopen *r, const struct state_file *file)
{
	int type = (int)file->rec->object, flags = (int)file->rec->f_flags & O_NONBLOCK;
	int ends[2];

	if (type != SOCK_STREAM && type != SOCK_SEQPACKET && type != SOCK_DGRAM)
		return reopen_failed(r, file, -EOPNOTSUPP, "restore the kind of");
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends))
		return reopen_failed(r, file, -errno, "make");
	close(ends[1]);
	if (flags && fcntl(ends[0], F_SETFL, flags)) {
		int err = -errno;

		close(ends[0]);
		return reopen_failed(r, file, err, "set the flags of");
	}
	return ends[0];
}

int reopen_sock(struct reopen *r, const struct state_file *file)
{
	struct reopen_sock *made;
	int fd;

	if (!reopen_sock_is_whole(file->sock))
		return reopen_sock_orphan(r, file);
	made = reopen_sock_of(r, file->sock);
	fd = made->fd;
	made->fd = -1;
	return fd < 0 ? reopen_failed(r, file, -EBADF, "make") : fd;
}

/* ---------------------------------------------------------------- life */

int reopen_socks_init(struct reopen *r)
{
	size_t nr = r->state->nr_socks;

	r->socks = calloc(nr + 1, sizeof(*r->socks));
	if (!r->socks)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		r->socks[i].fd = -1;
		r->socks[i].end = -1;
		r->socks[i].place = -1;
	}
	return 0;
}

static void reopen_sock_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void reopen_socks_close(struct reopen *r)
{
	for (unsigned int i = 0; i < r->state->nr_socks; i++) {
		reopen_sock_close(&r->socks[i].fd);
		reopen_sock_close(&r->socks[i].end);
		reopen_sock_close(&r->socks[i].place);
	}
}
