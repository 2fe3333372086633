// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling the unix sockets of an image again, and leaving each in the state that it had.
 *
 * All files of the tree are open by now, so that those which travel in messages are at hand; a
 * socket may travel to itself.  First the connections that wait to be accepted, in their order;
 * then what nobody has read, sent once more by the socket that had sent it, as its address is what
 * the receiver will see; then the peers of datagram sockets, as a socket with a peer takes nothing
 * from others; then peers that have gone, what was shut down, and last the options, some of which
 * would have changed the steps before.
 *
 * Nothing here waits: all sockets are non-blocking until the end.
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
#include "engine/core/sock_options.h"

/* ---------------------------------------------------------------- sending */

static int reopen_sock_number(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) ? -1 : value;
}

void reopen_sock_widen(struct reopen_sock *made, int fd)
{
	if (made->roomy)
		return;
	made->roomy = true;
	made->sndbuf = reopen_sock_number(fd, SO_SNDBUF);
	made->rcvbuf = reopen_sock_number(fd, SO_RCVBUF);
	made->locks = reopen_sock_number(fd, SO_BUF_LOCK);
	sock_options_room(fd);
}

/* Send @len bytes at @data, with the descriptors of the message if @control has some. */
static int reopen_sock_send_all(int fd, struct msghdr *msg, const char *data, size_t len)
{
	do {
		struct iovec part = { (void *)(uintptr_t)data, len };
		ssize_t n;

		msg->msg_iov = &part;
		msg->msg_iovlen = 1;
		n = sendmsg(fd, msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
		msg->msg_control = NULL;	/* they went with the first bytes */
		msg->msg_controllen = 0;
	} while (len);
	return 0;
}

static int reopen_sock_send(struct reopen *r, const struct state_sock_msg *msg, int fd,
			    const struct sockaddr_un *addr, socklen_t addr_len)
{
	uint32_t nr = msg->rec->nr_files;
	_cleanup_free_ struct cmsghdr *control = calloc(1, CMSG_SPACE(nr * sizeof(int)) + 1);
	struct msghdr to = {
		.msg_name = (void *)(uintptr_t)addr, .msg_namelen = addr ? addr_len : 0,
	};
	int *fds;

	if (!control)
		return -ENOMEM;
	if (nr) {
		control->cmsg_level = SOL_SOCKET;
		control->cmsg_type = SCM_RIGHTS;
		control->cmsg_len = CMSG_LEN(nr * sizeof(int));
		to.msg_control = control;
		to.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		fds = (int *)CMSG_DATA(control);
		for (uint32_t i = 0; i < nr; i++)
			fds[i] = reopen_fd(r, state_file_find(r->state, msg->files[i]));
	}
	return reopen_sock_send_all(fd, &to, msg->data, msg->rec->data_len);
}

/* Tell about an unread datagram of @sock. */
static void reopen_sock_note(const struct reopen *r, const struct state_sock *sock,
			     const char *what)
{
	char name[112], text[256];

	if (!r->options->note)
		return;
	reopen_sock_name_text(sock, name, sizeof(name));
	snprintf(text, sizeof(text), "socket %s: an unread datagram %s", name, what);
	r->options->note(text, r->options->note_arg);
}

/*
 * A datagram socket for one message, whose sender is gone; it has the sender's name, or none if
 * that cannot be had: the datagram is worth more than the way back.
 */
static int reopen_sock_ghost(const struct reopen *r, const struct state_sock *sock,
			     const struct state_sock_msg *msg)
{
	int fd = reopen_sock_new(sock);

	if (fd < 0 || !msg->rec->name_len)
		return fd;
	if (!reopen_sock_bind_bare(fd, msg->name, msg->rec->name_len))
		return fd;
	close(fd);
	reopen_sock_note(r, sock, "comes from a sender without a name: the name cannot be had");
	return reopen_sock_new(sock);
}

/* Send a datagram to @sock again. */
static int reopen_sock_datagram(struct reopen *r, const struct state_sock *sock,
				const struct state_sock_msg *msg)
{
	const struct reopen_sock *made = reopen_sock_of(r, sock);
	struct sockaddr_un addr;
	socklen_t len = reopen_sock_address(sock, made->place, &addr);
	bool named = sock->rec->flags & CKPT_SOCK_NAMED;
	_cleanup_fd_ int ghost = -1;
	int fd;

	if (msg->sender && reopen_sock_is_whole(msg->sender)) {
		fd = reopen_sock_fd(r, msg->sender);
		reopen_sock_widen(reopen_sock_of(r, msg->sender), fd);
	} else if (!named) {
		fd = made->end;
	} else {
		fd = ghost = reopen_sock_ghost(r, sock, msg);
		if (fd >= 0)
			sock_options_room(fd);
	}
	if (fd < 0)
		return fd == -1 ? -ENOTCONN : fd;
	return reopen_sock_send(r, msg, fd, named ? &addr : NULL, len);
}

int reopen_sock_stream(struct reopen *r, const struct state_sock *sock, int fd)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < sock->nr_msgs; i++)
		ret = reopen_sock_send(r, &sock->msgs[i], fd, NULL, 0);
	return ret;
}

/* UDP may lose datagrams: one whose addresses cannot be had here is left out, and told of. */
static int reopen_sock_refill(struct reopen *r, const struct state_sock *sock,
			      const struct state_sock_msg *msg)
{
	int ret;

	if (state_sock_is_unix(sock))
		return reopen_sock_datagram(r, sock, msg);
	ret = reopen_inet_datagram(r, sock, msg);
	if (ret == -EADDRINUSE || ret == -EADDRNOTAVAIL || ret == -ENETUNREACH ||
	    ret == -EHOSTUNREACH || ret == -EACCES || ret == -EPERM || ret == -EINVAL) {
		reopen_sock_note(r, sock, "is lost: its addresses cannot be had here");
		return 0;
	}
	return ret;
}

static int reopen_sock_fill(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int ret = 0, fd;

	/* of a link the other node's part has sent it */
	if (!sock->nr_msgs || state_sock_is_link(sock))
		return 0;
	if (state_sock_is_datagram(sock)) {
		for (unsigned int i = 0; !ret && i < sock->nr_msgs; i++)
			ret = reopen_sock_refill(r, sock, &sock->msgs[i]);
	} else if (sock->peer) {
		fd = reopen_sock_fd(r, sock->peer);
		reopen_sock_widen(reopen_sock_of(r, sock->peer), fd);
		ret = reopen_sock_stream(r, sock, fd);
	} else if (made->end >= 0) {
		sock_options_room(made->end);
		reopen_sock_widen(made, reopen_sock_fd(r, sock));
		ret = reopen_sock_stream(r, sock, made->end);
	} else {
		ret = -ENOTCONN;
	}
	return ret ? reopen_sock_failed(r, sock, ret, "fill") : 0;
}

/* ---------------------------------------------------------------- waiting connections */

/* Connect, for @sock to wait in the queue of its listening socket, with what was sent to it. */
static int reopen_sock_wait(struct reopen *r, const struct state_sock *sock)
{
	const struct state_sock *listener = sock->listener;
	_cleanup_fd_ int ghost = -1;
	struct sockaddr_un addr;
	socklen_t len = reopen_sock_address(listener, reopen_sock_of(r, listener)->place, &addr);
	int fd, ret;

	if (sock->peer) {
		fd = reopen_sock_fd(r, sock->peer);
		reopen_sock_widen(reopen_sock_of(r, sock->peer), fd);
	} else {
		fd = ghost = reopen_sock_new(sock);
		if (fd >= 0)
			sock_options_room(fd);
	}
	ret = fd < 0 ? fd : reopen_sock_connect(fd, &addr, len);
	if (!ret)
		ret = reopen_sock_stream(r, sock, fd);
	return ret ? reopen_sock_failed(r, listener, ret, "connect to") : 0;
}

/* ---------------------------------------------------------------- state */

/* Give a datagram socket its peer, unless both were made as a pair. */
static int reopen_sock_aim(struct reopen *r, const struct state_sock *sock)
{
	const struct state_sock *peer = sock->peer;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr.sun_family);
	_cleanup_fd_ int gone = -1;
	int ret = 0;

	if (!state_sock_is_unix(sock))
		return reopen_inet_aim(r, sock);
	if (!state_sock_is_datagram(sock) || sock->rec->state != CKPT_SOCK_CONNECTED ||
	    reopen_sock_of(r, sock)->paired)
		return 0;
	if (peer) {
		len = reopen_sock_address(peer, reopen_sock_of(r, peer)->place, &addr);
	} else {
		gone = reopen_sock_new(sock);
		if (gone < 0 || bind(gone, (struct sockaddr *)&addr, len))
			ret = -errno;
		len = sizeof(addr);
		if (!ret && getsockname(gone, (struct sockaddr *)&addr, &len))
			ret = -errno;
	}
	if (!ret)
		ret = reopen_sock_connect(reopen_sock_fd(r, sock), &addr, len);
	return ret ? reopen_sock_failed(r, sock, ret, "connect") : 0;
}

/* Close the peer that was made for now; a byte that it has not read makes that a reset. */
static int reopen_sock_part(struct reopen *r, const struct state_sock *sock)
{
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int ret = 0;

	if (!state_sock_is_unix(sock))
		return reopen_inet_part(r, sock);
	if (made->end < 0)
		return 0;
	if (sock->rec->flags & CKPT_SOCK_RESET &&
	    send(reopen_sock_fd(r, sock), "", 1, MSG_NOSIGNAL) != 1)
		ret = -errno;
	close(made->end);
	made->end = -1;
	return ret ? reopen_sock_failed(r, sock, ret, "reset") : 0;
}

static int reopen_sock_shut(struct reopen *r, const struct state_sock *sock)
{
	uint32_t bits = sock->rec->shutdown;

	if (!bits || (sock->rec->flags & CKPT_SOCK_PEER_GONE && state_sock_is_unix(sock)) ||
	    sock->rec->flags & CKPT_SOCK_ENDED || state_sock_is_cut(sock))
		return 0;
	if (shutdown(reopen_sock_fd(r, sock), (int)bits - 1))
		return reopen_sock_failed(r, sock, -errno, "shut down");
	return 0;
}

/* Sizes, options, O_NONBLOCK, the owner of the name. */
static int reopen_sock_finish(struct reopen *r, const struct state_sock *sock)
{
	const struct engine_rec_sock_options *options = sock->options;
	const struct engine_sock_option *bad = NULL;
	struct reopen_sock *made = reopen_sock_of(r, sock);
	int fd = reopen_sock_fd(r, sock), ret = 0;

	if (made->roomy)
		ret = sock_options_buffers(fd, made->sndbuf, made->rcvbuf, made->locks);
	if (!ret && !state_sock_is_unix(sock))
		ret = reopen_inet_settle(r, sock, fd);
	if (!ret && options)
		ret = sock_options_set(fd, (const void *)(options + 1), options->nr, &bad);
	if (!ret && options)
		ret = sock_options_set_late(fd, (const void *)(options + 1), options->nr);
	if (!ret && fcntl(fd, F_SETFL, sock->file->rec->f_flags & O_NONBLOCK))
		ret = -errno;
	if (ret)
		return reopen_sock_not_set(r, sock, ret, bad);
	return reopen_sock_own_name(r, sock, &made->place);
}

static int reopen_socks_each(struct reopen *r,
			     int (*fn)(struct reopen *r, const struct state_sock *sock))
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_socks; i++)
		if (reopen_sock_is_whole(&r->state->socks[i]))
			ret = fn(r, &r->state->socks[i]);
	return ret;
}

int reopen_socks_connect(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_socks; i++) {
		const struct state_sock *sock = &r->state->socks[i];

		if (sock->listener && reopen_sock_is_whole(sock->listener) &&
		    !state_sock_is_outside(sock))
			ret = state_sock_is_unix(sock) ? reopen_sock_wait(r, sock) :
							 reopen_inet_wait(r, sock);
	}
	if (!ret)
		ret = reopen_socks_each(r, reopen_sock_fill);
	if (!ret)
		ret = reopen_socks_each(r, reopen_sock_aim);
	if (!ret)
		ret = reopen_socks_each(r, reopen_sock_part);
	if (!ret)
		ret = reopen_socks_each(r, reopen_sock_shut);
	return ret ? ret : reopen_socks_each(r, reopen_sock_finish);
}
