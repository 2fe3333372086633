// SPDX-License-Identifier: GPL-2.0-only
/*
 * One connection of the control socket; see ctl_priv.h.
 *
 * Connections that are ready wait in a queue; in each turn of the loop, one of each user is served.
 * A connection has one request at a time and is not read while the request is under way, except to
 * notice that the connection ends. Nothing that a client sends, or does not read, can hold up
 * the loop: reads are bounded, and writes are queued; the next request is read only after the
 * client has taken the answer. Descriptors that a user sent are closed in another thread
 * (close_apart()).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/close_apart.h"
#include "base/outcome.h"
#include "supervisor/control/ctl_priv.h"

/* Closing the last reference of a user's file may take as long as that user likes. */
static void ctl_connection_close_fd(const struct ctl_connection *c, int fd)
{
	if (c->peer.uid)
		close_apart(fd);
	else if (fd >= 0)
		close(fd);
}

static void ctl_connection_dequeue(struct ctl_connection *c)
{
	struct ctl_connection **at = &c->ctl->queue;

	while (*at && *at != c)
		at = &(*at)->after;
	if (*at)
		*at = c->after;
	c->after = NULL;
	c->events = 0;
}

void ctl_connection_close(struct ctl_connection *c)
{
	struct request *request = c->request;
	unsigned int i;

	if (request) {
		request->connection = NULL;
		c->request = NULL;
		if (c->on_abandon)
			c->on_abandon(request, c->abandon_arg);
	}
	ctl_connection_dequeue(c);
	reactor_remove(c->source);
	shutdown(c->sock, SHUT_RDWR);
	ctl_connection_close_fd(c, c->sock);
	for (i = 0; i < c->in.nr_fds; i++)
		ctl_connection_close_fd(c, wire_take_fd(&c->in, i));
	wire_in_done(&c->in);
	if (c->out_fd >= 0)
		close(c->out_fd);
	free(c->out);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->ctl->nr_connections--;
	free(c);
}

/* ---------------------------------------------------------------- output */

/* Send queued bytes. 0; negative: the client is gone. */
static int ctl_connection_flush(struct ctl_connection *c)
{
	while (c->out_at < c->out_len) {
		size_t len = c->out_len - c->out_at;
		bool with_fd = c->out_fd >= 0 && c->out_at == c->fd_at;
		int n;

		/* A descriptor must be at the start of a write. */
		if (c->out_fd >= 0 && !with_fd && c->out_at + len > c->fd_at)
			len = c->fd_at - c->out_at;
		n = wire_send_some(c->sock, c->out + c->out_at, len, &c->out_fd,
				   with_fd);
		if (n == -EAGAIN)
			break;
		if (n < 0)
			return n;
		c->out_at += (size_t)n;
		c->idle_ms = clock_monotonic_ms();	/* the client reads */
		if (with_fd) {
			close(c->out_fd);
			c->out_fd = -1;
		}
	}
	if (c->out_at == c->out_len) {
		free(c->out);
		c->out = NULL;
		c->out_len = c->out_at = 0;
		if (c->closing)
			return -EPIPE;
	}
	reactor_events(c->source, EPOLLIN | (c->out ? EPOLLOUT : 0));
	return 0;
}

static int ctl_connection_enqueue(struct ctl_connection *c, const char *text, int fd)
{
	size_t len = strlen(text);
	size_t pending = c->out_len - c->out_at;
	char *out;

	if (fd >= 0 && c->out_fd >= 0)
		return -EBUSY;
	out = malloc(pending + WIRE_HEADER + len);
	if (!out)
		return -ENOMEM;
	if (pending)
		memcpy(out, c->out + c->out_at, pending);
	if (c->out_fd >= 0)
		c->fd_at -= c->out_at;
	wire_header((uint8_t *)out + pending, len, fd >= 0);
	memcpy(out + pending + WIRE_HEADER, text, len);
	free(c->out);
	c->out = out;
	c->out_at = 0;
	c->out_len = pending + WIRE_HEADER + len;
	if (fd >= 0) {
		c->out_fd = fd;
		c->fd_at = pending;
	}
	return 0;
}

int ctl_connection_send(struct ctl_connection *c, json_t *json, int fd)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
	int err = -ENOMEM;

	if (text && strlen(text) <= WIRE_ANSWER_MAX)
		err = ctl_connection_enqueue(c, text, fd);
	if (!err)
		return ctl_connection_flush(c);
	if (fd >= 0)
		close(fd);
	return err;
}

size_t ctl_connection_queued(const struct ctl_connection *c)
{
	return c->out_len - c->out_at;
}

/* ----------------------------------------------------------------- input */

static void ctl_connection_dispatch(struct ctl_connection *c, const char *body, size_t len)
{
	json_t *outcome = NULL;
	request_fn fn = NULL;
	struct request *request = request_new(c, body, len, &fn, &outcome);
	unsigned int i;

	if (!request) {
		c->closing = true;
		if (ctl_connection_send(c, outcome, -1))
			ctl_connection_close(c);
		json_decref(outcome);
		return;
	}
	for (i = 0; i < c->in.nr_fds; i++) {
		if (request->uid)
			close_apart(wire_take_fd(&c->in, i));
		else
			request->fds[request->nr_fds++] = wire_take_fd(&c->in, i);
	}
	c->request = request;
	wire_consume(&c->in);
	log_debug(c->ctl->options.log, "request %s of uid %u, pid %d",
		  request->verb, (unsigned int)request->uid, (int)request->pid);
	if (fn)
		fn(request);
	else
		request_answer(request, outcome_error(-ENOSYS,
						      "ckptd does not know the request %s: is it "
						      "older than ckptctl?",
						      request->verb));
}

static void ctl_connection_serve(struct ctl_connection *c, uint32_t events)
{
	const char *body;
	size_t len;
	int n;

	if ((events & EPOLLOUT) && ctl_connection_flush(c)) {
		ctl_connection_close(c);
		return;
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	/* A client that is gone before its request was read does not want it any more. */
	if (events & EPOLLHUP) {
		ctl_connection_close(c);
		return;
	}
	n = wire_receive(&c->in, c->sock);
	if (n == -EAGAIN)
		return;
	/* Our clients send nothing before they have the answer; anything else is noise. */
	if (n <= 0 || c->request || c->out) {
		ctl_connection_close(c);
		return;
	}
	n = wire_next(&c->in, &body, &len);
	if (n == 1)
		ctl_connection_dispatch(c, body, len);
	else if (n < 0)
		ctl_connection_close(c);
}

/* Events that come while the connection waits in the queue add to those for which it waits. */
static void ctl_connection_on_event(uint32_t events, void *arg)
{
	struct ctl_connection *c = arg, **at = &c->ctl->queue;

	if (!c->events) {
		while (*at)
			at = &(*at)->after;
		*at = c;
	}
	c->events |= events;
}

/* The connection that is next, of a user who has not been served in this turn; NULL: none. */
static struct ctl_connection *ctl_queue_next(const struct ctl *ctl)
{
	struct ctl_connection *c = ctl->queue;

	while (c && c->turn == ctl->turn)
		c = c->after;
	return c;
}

void ctl_connections_serve(struct ctl *ctl)
{
	struct ctl_connection *c, *other;
	uint32_t events;

	ctl->turn++;
	while ((c = ctl_queue_next(ctl))) {
		for (other = ctl->queue; other; other = other->after) {
			if (other->peer.uid == c->peer.uid)
				other->turn = ctl->turn;
		}
		events = c->events;
		ctl_connection_dequeue(c);
		ctl_connection_serve(c, events);
	}
}

/* True if unread bytes have arrived while the loop was busy. */
static bool ctl_connection_has_more(const struct ctl_connection *c)
{
	char first;

	return recv(c->sock, &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool ctl_connection_is_idle(const struct ctl_connection *c, int64_t since_ms)
{
	return !c->request && c->idle_ms <= since_ms && !ctl_connection_has_more(c);
}

int ctl_connection_open(struct ctl *ctl, int sock, const struct ucred *peer)
{
	struct ctl_connection *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = reactor_fd(ctl->clients, sock, EPOLLIN, ctl_connection_on_event, c,
			 &c->source);
	if (err) {
		free(c);
		return err;
	}
	c->ctl = ctl;
	c->sock = sock;
	c->peer = *peer;
	c->out_fd = -1;
	c->in.limit = WIRE_REQUEST_MAX;
	c->next = ctl->connections;
	c->link = &ctl->connections;
	if (c->next)
		c->next->link = &c->next;
	ctl->connections = c;
	ctl->nr_connections++;
	c->idle_ms = clock_monotonic_ms();
	c->opened_ns = clock_boottime_ns();
	return 0;
}
