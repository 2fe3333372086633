// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections to the shim: ckptd and its workers, which ask, and terminals,
 * which are served the logs from where they began.
 *
 * A client that is slow is not waited for: it has a place in each log and gets
 * on when its socket takes more.  A client that says something wrong is
 * dropped; the job never notices.
 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

struct shim_client {
	struct shim *shim;
	struct shim_client *next, **link;
	struct reactor_source *source;
	int sock;
	bool attached;
	bool told_end;
	bool moved;		/* it took output since clients_moved() looked last */
	int queued;		/* bytes in its socket at that look */
	bool handled;		/* its message is being handled, which may serve all clients */
	bool gone;		/* it failed meanwhile; drop it after handling */
	uint32_t events;
	uint64_t at[2];		/* place in each log */
	uint64_t *followed;	/* place in each log of other nodes */
	bool has_input;		/* @input waits: the job has not taken it yet */
	bool ack_due;		/* the job took @input; the client has not been told */
	size_t input_len;
	char input[SHIM_DATA_MAX];
	bool fences;		/* it carries fences between nodes */
	struct fence_reader fence;
};

int client_send(struct shim_client *client, const struct shim_msg *msg, const void *data,
		size_t len)
{
	return shim_send(client->sock, msg, data, len, NULL, 0);
}

/* The client may have sent SHIM_OVER just before it closed: read all that it left. */
static void hear_last(struct shim_client *client)
{
	char data[SHIM_DATA_MAX];
	struct shim_msg msg;
	int n;

	do {
		n = shim_receive(client->sock, &msg, data, sizeof(data), NULL, NULL);
		if (n >= 0 && msg.type == SHIM_OVER)
			shim_over(client->shim, msg.value);
	} while (n >= 0 || n == -EMSGSIZE);
}

static void client_drop(struct shim_client *client)
{
	if (client->handled) {
		client->gone = true;
		return;
	}
	if (client->fences)
		hear_last(client);
	shim_pages_unwatch(client->shim, client);
	reactor_remove(client->source);
	close(client->sock);
	*client->link = client->next;
	if (client->next)
		client->next->link = client->link;
	free(client->followed);
	free(client);
}

static void shim_client_want(struct shim_client *client, uint32_t events)
{
	if (client->events == events)
		return;
	client->events = events;
	reactor_events(client->source, events);
}

/* 0: all sent; 1: the socket is full; negative: gone. */
static int serve_log(struct shim_client *client, int log, uint64_t ready, int stream,
		     uint64_t *at)
{
	struct shim_msg msg = { .type = SHIM_OUTPUT, .value = stream };
	char data[SHIM_DATA_MAX];
	int err;

	while (log >= 0 && *at < ready) {
		uint64_t left = ready - *at;
		ssize_t n = pread(log, data, left < sizeof(data) ? (size_t)left : sizeof(data),
				  (off_t)*at);

		if (n <= 0)
			return 0;
		err = shim_send(client->sock, &msg, data, (size_t)n, NULL, 0);
		if (err)
			return err == -EAGAIN ? 1 : err;
		*at += (uint64_t)n;
		client->moved = true;
	}
	return 0;
}

static int serve_streams(struct shim_client *client)
{
	const struct shim *shim = client->shim;
	unsigned int i;
	uint64_t ready;
	int log, ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		const struct shim_stream *s = &shim->io.stream[i];

		ret = serve_log(client, s->log, s->ready, (int)i + 1, &client->at[i]);
	}
	for (i = 0; i < follow_count(shim->follow) && !ret; i++) {
		log = follow_log(shim->follow, i, &ready);
		if (client->followed[i] > ready)
			client->followed[i] = ready;
		ret = serve_log(client, log, ready, (int)i % 2 + 1, &client->followed[i]);
	}
	return ret;
}

static int tell_end(struct shim_client *client)
{
	const struct shim *shim = client->shim;
	struct shim_msg msg = { .type = SHIM_EXITED, .value = shim->status };
	int err;

	if (!shim->ended || client->told_end)
		return 0;
	if (client->attached && (!stdio_finished(&shim->io) ||
				 (shim_is_home(shim) && !shim->over)))
		return 0;
	err = shim_send(client->sock, &msg, NULL, 0, NULL, 0);
	if (!err)
		client->told_end = true;
	return err == -EAGAIN ? 1 : err;
}

static int tell_input_taken(struct shim_client *client)
{
	struct shim_msg msg = { .type = SHIM_INPUT };
	int err;

	if (!client->ack_due)
		return 0;
	err = shim_send(client->sock, &msg, NULL, 0, NULL, 0);
	client->ack_due = err == -EAGAIN;
	return err == -EAGAIN ? 1 : err;
}

static int serve_fence(struct shim_client *client)
{
	const struct shim_fence *fence = &client->shim->fence;
	struct shim_msg msg = { .type = SHIM_FENCE, .number = fence->number };
	struct shim_msg last = { .type = SHIM_FENCE_DONE };
	const char *data;
	size_t len;
	bool more;
	int err;

	while (client->fences && fence_peek_last(fence, &client->fence, SHIM_DATA_MAX, &last.number,
						 &data, &len, &more)) {
		last.value = more;
		err = shim_send(client->sock, &last, data, len, NULL, 0);
		if (err)
			return err == -EAGAIN ? 1 : err;
		fence_advance_last(&client->fence, len, more);
	}
	while (client->fences &&
	       fence_peek(fence, &client->fence, SHIM_DATA_MAX, &data, &len, &more)) {
		msg.value = more;
		err = shim_send(client->sock, &msg, data, len, NULL, 0);
		if (err)
			return err == -EAGAIN ? 1 : err;
		fence_advance(&client->fence, len, more);
	}
	return 0;
}

/* Send what there is; false: the client is gone. */
static bool shim_client_serve(struct shim_client *client)
{
	int ret = 0;

	if (client->attached) {
		ret = tell_input_taken(client);
		if (!ret)
			ret = serve_streams(client);
	}
	if (!ret)
		ret = serve_fence(client);
	if (!ret)
		ret = tell_end(client);
	if (ret < 0) {
		client_drop(client);
		return false;
	}
	shim_client_want(client, EPOLLIN | (ret ? EPOLLOUT : 0));
	return true;
}

/* ----------------------------------------------------------- what it asks */

static int shim_client_answer(struct shim_client *client, const struct shim_msg *msg,
			      const void *data, size_t len, const int *fds, unsigned int nr_fds)
{
	return shim_send(client->sock, msg, data, len, fds, nr_fds);
}

static int answer_status(struct shim_client *client, struct shim_msg *msg)
{
	const struct shim *shim = client->shim;
	struct shim_status status = {
		.main_pid = shim->main_pid,
		.ended = shim->ended,
		.status = shim->status,
		.attached = clients_attached(shim),
		.failed = shim->failed,
	};

	return shim_client_answer(client, msg, &status, sizeof(status), NULL, 0);
}

static int answer_externals(struct shim_client *client, struct shim_msg *msg)
{
	struct shim_end ends[SHIM_FDS_MAX];
	int fds[SHIM_FDS_MAX];
	unsigned int nr;

	msg->value = (int)stdio_ends(&client->shim->io, msg->number, ends, fds, &nr);
	return shim_client_answer(client, msg, ends, nr * sizeof(ends[0]), fds, nr);
}

static int answer_drain(struct shim_client *client, struct shim_msg *msg)
{
	struct shim_stdio *io = &client->shim->io;
	struct shim_logs logs;

	msg->value = stdio_drain(io);
	logs = (struct shim_logs) {
		.out = io->stream[0].len, .err = io->stream[1].len,
	};
	return shim_client_answer(client, msg, &logs, sizeof(logs), NULL, 0);
}

/* Show the rest of the log to nobody: whoever has seen some of it goes on at the new end. */
static int answer_cut(struct shim_client *client, struct shim_msg *msg)
{
	unsigned int stream = msg->number & 1;
	uint64_t len = msg->number >> 1;
	struct shim_client *other;

	msg->value = stdio_cut_log(&client->shim->io, stream, len);
	for (other = client->shim->clients; other && !msg->value; other = other->next)
		if (other->at[stream] > len)
			other->at[stream] = len;
	return shim_client_answer(client, msg, NULL, 0, NULL, 0);
}

static int answer_ranks(struct shim_client *client, struct shim_msg *msg)
{
	const struct shim *shim = client->shim;
	size_t nr = shim->ranks ? shim->spec.ranks.nr : 0;
	size_t room = SHIM_DATA_MAX / sizeof(*shim->ranks);

	if (msg->number > nr)
		return -EPROTO;
	nr -= msg->number;
	return shim_client_answer(client, msg, shim->ranks + msg->number,
				  (nr < room ? nr : room) * sizeof(*shim->ranks), NULL, 0);
}

static void shim_client_attach(struct shim_client *client, uint64_t history)
{
	unsigned int i;

	for (i = 0; i < follow_count(client->shim->follow); i++) {
		uint64_t ready;

		follow_log(client->shim->follow, i, &ready);
		client->followed[i] = ready > history ? ready - history : 0;
	}
	client->attached = true;
	for (i = 0; i < 2; i++) {
		uint64_t ready = client->shim->io.stream[i].ready;

		client->at[i] = ready > history ? ready - history : 0;
	}
}

static void shim_client_note(struct shim *shim, const char *data, size_t len)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)(len < 200 ? len : 200), data);
	stdio_note(&shim->io, text);
}

/*
 * One client at a time carries fences: pieces that an earlier one left half read or half sent
 * would otherwise be mixed with the new one's.
 */
static void give_fences(struct shim_client *client)
{
	struct shim_client *other;

	for (other = client->shim->clients; other; other = other->next)
		other->fences = false;
	client->fences = true;
	fence_restart(&client->shim->fence, &client->fence);
}

static int answer_renew(struct shim_client *client, struct shim_msg *msg, int shm)
{
	msg->value = shm < 0 ? -EPROTO : shim_ranks_renew(client->shim, shm);
	return shim_client_answer(client, msg, NULL, 0, NULL, 0);
}

/* @fd: a descriptor that came with the message; -1: none. Stays the caller's. */
static int handle_control(struct shim_client *client, struct shim_msg *msg,
			  const char *data, size_t len, int fd)
{
	if (msg->type == SHIM_FENCE_DONE && client->fences) {
		shim_ranks_fenced(client->shim, msg, data, len);
		return 0;
	}
	if (msg->type == SHIM_OVER) {
		shim_over(client->shim, msg->value);
		return 0;
	}
	if (msg->type == SHIM_CUT)
		return answer_cut(client, msg);
	if (msg->type == SHIM_RENEW)
		return answer_renew(client, msg, fd);
	if (msg->type >= SHIM_WATCH)
		return shim_pages_handle(client->shim, client, msg, data, len);
	msg->value = 0;
	/* Read init's messages first, so that the answer knows of every process that has ended. */
	if (msg->type == SHIM_STATUS || msg->type == SHIM_RANKS)
		shim_hear(client->shim);
	switch (msg->type) {
	case SHIM_STATUS:
		return answer_status(client, msg);
	case SHIM_EXTERNALS:
		return answer_externals(client, msg);
	case SHIM_DRAIN:
		return answer_drain(client, msg);
	case SHIM_RANKS:
		return answer_ranks(client, msg);
	case SHIM_SIGNAL:
		msg->value = shim_signal(client->shim, (int)msg->number);
		return shim_client_answer(client, msg, NULL, 0, NULL, 0);
	case SHIM_ABORT:
		/* Ranks that an abort ends do not count as failed. */
		client->shim->aborted = true;
		msg->value = shim_abort(client->shim, (int)msg->number);
		if (len)
			shim_client_note(client->shim, data, len);
		return shim_client_answer(client, msg, NULL, 0, NULL, 0);
	case SHIM_FENCES:
		give_fences(client);
		return shim_client_answer(client, msg, NULL, 0, NULL, 0);
	case SHIM_ATTACH:
		if (shim_client_answer(client, msg, NULL, 0, NULL, 0))
			return -EPIPE;
		/* Other nodes' logs are watched only while a client is attached: look now. */
		if (!clients_attached(client->shim))
			follow_look(client->shim->follow);
		shim_client_attach(client, msg->number);
		return 0;
	default:
		return -EPROTO;
	}
}

/* Input that the job has no room for waits in the client. */
static void give_input(struct shim_client *client)
{
	int n;

	if (!client->has_input)
		return;
	n = stdio_input(&client->shim->io, client->input, client->input_len);
	if (!n)
		return;
	/* Input for a job that reads no more is dropped, as by a broken pipe. */
	client->has_input = false;
	client->ack_due = true;
}

/* Tell ckptd of the signal, for the other nodes; it is lost if ckptd is not connected. */
static void pass_signal(const struct shim *shim, uint64_t signo)
{
	const struct shim_msg msg = { .type = SHIM_SIGNALLED, .number = signo };
	const struct shim_client *client;

	for (client = shim->clients; client; client = client->next) {
		if (client->fences)
			shim_send(client->sock, &msg, NULL, 0, NULL, 0);
	}
}

static int handle_terminal(struct shim_client *client, const struct shim_msg *msg,
			   const char *data, size_t len)
{
	switch (msg->type) {
	case SHIM_INPUT:
		if (client->has_input || !len)
			return -EPROTO;
		memcpy(client->input, data, len);
		client->has_input = true;
		client->input_len = len;
		give_input(client);
		return 0;
	case SHIM_INPUT_END:
		stdio_input_end(&client->shim->io);
		return 0;
	case SHIM_WINDOW:
		stdio_window(&client->shim->io, (unsigned int)msg->number);
		return 0;
	case SHIM_SIGNAL:
		shim_signal(client->shim, (int)msg->number);
		pass_signal(client->shim, msg->number);
		return 0;
	default:
		return -EPROTO;
	}
}

static void on_client(uint32_t events, void *arg)
{
	struct shim_client *client = arg;
	struct shim *shim = client->shim;
	bool attached = client->attached;
	char data[SHIM_DATA_MAX];
	int n, fds[SHIM_FDS_MAX];
	unsigned int nr_fds = 0;
	struct shim_msg msg;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		n = shim_receive(client->sock, &msg, data, sizeof(data), fds, &nr_fds);
		client->handled = true;
		if (n >= 0)
			n = client->attached ?
			    handle_terminal(client, &msg, data, (size_t)n) :
			    handle_control(client, &msg, data, (size_t)n, nr_fds ? fds[0] : -1);
		client->handled = false;
		while (nr_fds)
			close(fds[--nr_fds]);
		if (client->gone || (n < 0 && n != -EAGAIN)) {
			client_drop(client);
			client = NULL;
			clients_wake(shim);
		}
	}
	if (client)
		shim_client_serve(client);
	/* This may have been the last terminal that the shim waited for. */
	if (attached)
		shim_maybe_leave(shim);
}

int client_add(struct shim *shim, int sock, bool attached)
{
	struct shim_client *client = calloc(1, sizeof(*client));
	int err = -ENOMEM;

	if (client)
		client->followed = calloc(follow_count(shim->follow) + 1,
					  sizeof(*client->followed));
	if (client && client->followed && !fcntl(sock, F_SETFL, O_NONBLOCK))
		err = reactor_fd(shim->reactor, sock, EPOLLIN, on_client, client,
				 &client->source);
	if (err) {
		if (client)
			free(client->followed);
		free(client);
		close(sock);
		return err;
	}
	client->shim = shim;
	client->sock = sock;
	client->events = EPOLLIN;
	client->next = shim->clients;
	client->link = &shim->clients;
	if (client->next)
		client->next->link = &client->next;
	shim->clients = client;
	if (attached)
		shim_client_attach(client, 0);
	return 0;
}

void clients_wake(struct shim *shim)
{
	struct shim_client *client, *next;

	for (client = shim->clients; client; client = next) {
		next = client->next;
		give_input(client);
		shim_client_serve(client);
	}
}

bool clients_served(const struct shim *shim)
{
	const struct shim_client *client;

	for (client = shim->clients; client; client = client->next) {
		if (client->attached && !client->told_end)
			return false;
	}
	return true;
}

bool clients_moved(struct shim *shim)
{
	struct shim_client *client;
	bool moved = false;

	for (client = shim->clients; client; client = client->next) {
		int queued = 0;

		/* A socket takes more only after most of its queue was read: compare the queue. */
		ioctl(client->sock, SIOCOUTQ, &queued);
		moved |= client->attached && (client->moved || queued < client->queued);
		client->moved = false;
		client->queued = queued;
	}
	return moved;
}

unsigned int clients_attached(const struct shim *shim)
{
	const struct shim_client *client;
	unsigned int n = 0;

	for (client = shim->clients; client; client = client->next)
		n += client->attached;
	return n;
}
