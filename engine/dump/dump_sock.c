// SPDX-License-Identifier: GPL-2.0-only
/*
 * The options of the tree's sockets, which getsockopt(2) tells.
 *
 * Only options that differ from those of a new socket of the same type are kept.  The descriptors
 * are closed again before the thaw: if the tree closed a socket that we hold, its peer would not
 * see that.
 */
#include "engine/dump/dump_sock.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/core/sock_filter.h"
#include "engine/core/sock_options.h"
#include "engine/core/sock_rules.h"

/* New sockets to compare with, made when they are needed. */
struct dump_sock_fresh {
	unsigned int nr;
	struct {
		int family, type, fd;
	} socks[8];	/* three types of unix sockets, TCP and UDP of two families */
};

static int dump_sock_fresh_get(struct dump_sock_fresh *fresh, const struct ckpt_rec_sock *rec)
{
	int fd;

	for (unsigned int i = 0; i < fresh->nr; i++)
		if (fresh->socks[i].family == rec->family && fresh->socks[i].type == rec->type)
			return fresh->socks[i].fd;
	fd = socket(rec->family, rec->type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	fresh->socks[fresh->nr].family = rec->family;
	fresh->socks[fresh->nr].type = rec->type;
	fresh->socks[fresh->nr++].fd = fd;
	return fd;
}

/* Does another socket of TCP or UDP, that is not connected, have the port? */
static bool dump_sock_shares_port(const struct state *state, const struct state_sock *sock)
{
	uint16_t port = state_sock_port(state_sock_own(sock));

	for (unsigned int i = 0; i < state->nr_socks; i++) {
		const struct state_sock *other = &state->socks[i];

		if (other != sock && !state_sock_is_unix(other) &&
		    other->rec->type == sock->rec->type && other->rec->flags & CKPT_SOCK_NAMED &&
		    (state_sock_is_datagram(sock) ||
		     other->rec->state != CKPT_SOCK_CONNECTED) &&
		    state_sock_port(state_sock_own(other)) == port)
			return true;
	}
	return false;
}

/* May UDP sockets share a port, as SO_REUSEADDR is on? */
static bool dump_sock_reuses(int fd)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return !getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, &len) && value;
}

/* Note in @ret, which has room for both, the options that were on when the socket was bound. */
static unsigned int dump_sock_were_on(const struct state *state, const struct state_sock *sock,
				      int fd, struct engine_sock_option *ret)
{
	bool udp = !state_sock_is_unix(sock) && state_sock_is_datagram(sock);
	unsigned int nr = 0;

	if (state_sock_is_unix(sock) || !(sock->rec->flags & CKPT_SOCK_NAMED))
		return 0;
	if (!dump_sock_addr_is_here(state_sock_own(sock)))
		nr += sock_option_was_on(fd, IPPROTO_IP, IP_FREEBIND, &ret[nr]);
	if ((udp ? !dump_sock_reuses(fd) : sock->rec->state != CKPT_SOCK_CONNECTED) &&
	    dump_sock_shares_port(state, sock))
		nr += sock_option_was_on(fd, SOL_SOCKET, SO_REUSEPORT, &ret[nr]);
	return nr;
}

static int dump_sock_record(struct dump *d, const struct state_sock *sock, int fd, int fresh)
{
	_cleanup_free_ struct engine_sock_option *options = NULL;
	int pieces = sock_filter_pieces(fd), ret = 0;
	struct engine_rec_sock_options *rec;
	unsigned int nr;

	if (pieces < 0)
		return error_fail(d->error, pieces, "cannot read the filter of a socket: %s",
				  strerror(-pieces));
	options = calloc(SOCK_OPTIONS_MAX + (unsigned int)pieces + 2, sizeof(*options));
	if (!options)
		return error_fail(d->error, -ENOMEM, "out of memory");
	nr = sock_options_get(fd, fresh, options);
	if (pieces)
		ret = sock_filter_get(fd, (unsigned int)pieces, options + nr);
	if (ret)
		return error_fail(d->error, ret, "cannot read the filter of a socket: %s",
				  strerror(-ret));
	nr += (unsigned int)pieces;
	nr += dump_sock_were_on(d->cap.state, sock, fd, options + nr);
	if (!nr)
		return 0;
	rec = dump_record_add(d, ENGINE_REC_SOCK_OPTIONS, sizeof(*rec), options,
			      nr * sizeof(*options));
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	rec->sock = sock->rec->id;
	rec->nr = nr;
	return 0;
}

static int dump_sock_ask(struct dump *d, const struct state_sock *const *socks, unsigned int nr,
			 struct dump_sock_fresh *fresh)
{
	__u32 ids[CKPT_FILE_GET_MAX];
	__s32 fds[CKPT_FILE_GET_MAX];
	struct ckpt_file_get get = { .nr = nr, .ids = (uintptr_t)ids, .fds = (uintptr_t)fds };
	int ret, own;

	for (unsigned int i = 0; i < nr; i++) {
		ids[i] = socks[i]->file->rec->id;
		fds[i] = -1;
	}
	ret = kdev_file_get(d->cap.dev, &get);
	if (ret)
		ret = capture_failed(&d->cap, ret, "cannot get at the tree's sockets", d->error);
	for (unsigned int i = 0; i < nr && fds[i] >= 0; i++) {
		own = dump_sock_fresh_get(fresh, socks[i]->rec);
		if (!ret && own < 0)
			ret = error_fail(d->error, own, "cannot make a socket: %s",
					 strerror(-own));
		if (!ret)
			ret = dump_sock_record(d, socks[i], fds[i], own);
		close(fds[i]);
	}
	return ret;
}

/* Add a record of how each socket comes back that has its peer outside. */
static int dump_sock_ends(struct dump *d)
{
	for (unsigned int i = 0; i < d->cap.state->nr_socks; i++) {
		const struct state_sock *sock = &d->cap.state->socks[i];
		struct engine_rec_sock_end *rec;

		if (!state_sock_is_cut(sock))
			continue;
		rec = dump_record_add(d, ENGINE_REC_SOCK_END, sizeof(*rec), NULL, 0);
		if (!rec)
			return error_fail(d->error, -ENOMEM, "out of memory");
		rec->sock = sock->rec->id;
		rec->action = sock->cut;
	}
	return 0;
}

int dump_records_socks(struct dump *d)
{
	const struct state_sock *socks[CKPT_FILE_GET_MAX];
	struct dump_sock_fresh fresh = { .nr = 0 };
	unsigned int nr = 0;
	int ret = dump_sock_ends(d);

	for (unsigned int i = 0; !ret && i < d->cap.state->nr_socks; i++) {
		const struct state_sock *sock = &d->cap.state->socks[i];

		if (sock->file && (!state_sock_is_outside(sock) || !state_sock_is_unix(sock)) &&
		    !dump_external_name(d, sock->file))
			socks[nr++] = sock;
		if (nr == CKPT_FILE_GET_MAX) {
			ret = dump_sock_ask(d, socks, nr, &fresh);
			nr = 0;
		}
	}
	if (!ret && nr)
		ret = dump_sock_ask(d, socks, nr, &fresh);
	for (unsigned int i = 0; i < fresh.nr; i++)
		close(fresh.socks[i].fd);
	return ret;
}
