/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by ctl.c (the socket, and who gets a connection), ctl_connection.c (one connection) and
 * request.c (one request), and nobody else.
 *
 * A connection is in the list of its struct ctl until it is closed. A request is in the list until
 * it is answered, also when its connection is gone: request->connection is NULL then.
 */
#ifndef STILLPOINT_CTL_PRIV_H
#define STILLPOINT_CTL_PRIV_H

#include "libckptctl/wire.h"
#include "supervisor/control/access.h"
#include "supervisor/control/ctl.h"

struct ctl_connection {
	struct ctl *ctl;
	struct ctl_connection *next, **link;
	struct reactor_source *source;	/* of ctl->clients */
	uint32_t events;		/* that wait to be served; 0: not in the queue */
	struct ctl_connection *after;	/* the next in the queue */
	uint64_t turn;			/* the last one in which its user was served */
	int sock;
	struct ucred peer;
	struct wire_in in;
	struct request *request;	/* under way; NULL: none */
	void (*on_abandon)(struct request *request, void *arg);
	void *abandon_arg;
	char *out;			/* queued bytes */
	size_t out_len, out_at;
	int out_fd;			/* to be sent with the byte at fd_at */
	size_t fd_at;
	bool closing;			/* close when the queue is empty */
	int64_t idle_ms;		/* idle since then, by clock_monotonic_ms() */
	uint64_t opened_ns;		/* by clock_boottime_ns() */
};

#define CTL_TOLD	16
#define CTL_TOLD_MS	60000

/* A user of whom the log says that a connection was turned away. */
struct ctl_told {
	uid_t uid;
	int64_t until_ms;	/* nothing more is logged of this user; 0: unused */
	unsigned int untold;	/* connections turned away meanwhile */
};

struct ctl {
	struct ctl_options options;
	struct access access;
	int sock;
	struct reactor *clients;	/* of the socket and the connections */
	struct reactor_source *turns;	/* of options.reactor: calls reactor_turn() of clients */
	struct reactor_source *source;
	struct ctl_connection *connections;
	struct ctl_connection *queue;	/* ready ones, the longest waiting first */
	uint64_t turn;
	unsigned int nr_connections;
	struct request *requests;
	struct ctl_told told[CTL_TOLD];
	unsigned int next_told;		/* the oldest, to be overwritten */
	struct reactor_source *rest;	/* timer; NULL: connections are accepted */
	struct reactor_source *timer;	/* looks for idle connections; NULL: off */
};

/* ------------------------------------------------------------ ctl_connection.c */

/*
 * ctl_connection_open() - begin to read what @peer sends on @sock
 *
 * The connection takes over @sock and is in the list of @ctl. Return: 0; after a failure @sock
 * stays the caller's.
 */
int ctl_connection_open(struct ctl *ctl, int sock, const struct ucred *peer);
/* Tell the owner of the request under way that its client is gone, and free @c. */
void ctl_connection_close(struct ctl_connection *c);
/*
 * Queue @json, with the descriptor @fd (-1: none), which it takes over, and send what fits.
 * Return: 0; negative errno: the connection has to be closed.
 */
int ctl_connection_send(struct ctl_connection *c, json_t *json, int fd);
/* Serve the queue: of each user, the connection that has been ready for longest. */
void ctl_connections_serve(struct ctl *ctl);
/* Bytes that the client has not taken yet. */
size_t ctl_connection_queued(const struct ctl_connection *c);
/* True if @c has no request under way, none that has come, and none since @since_ms. */
bool ctl_connection_is_idle(const struct ctl_connection *c, int64_t since_ms);

/* ------------------------------------------------------------------- request.c */

/*
 * request_new() - make the request in the @len bytes of @body, and put it into the list of @c's ctl
 * @ret_fn: of its verb; NULL: there is no such verb
 *
 * Return: NULL with an outcome in *@ret_outcome (NULL: out of memory): this is no request, or one
 * beyond the bounds of its verb.
 */
struct request *request_new(struct ctl_connection *c, const char *body, size_t len,
			    request_fn *ret_fn, json_t **ret_outcome);

#endif /* STILLPOINT_CTL_PRIV_H */
