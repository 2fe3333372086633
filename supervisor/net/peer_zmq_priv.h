/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of the ZeroMQ transport, and nobody else: peer_zmq.c (the whole,
 * receiving), peer_link.c (sending to one node), peer_zap.c (the key check).
 */
#ifndef STILLPOINT_PEER_ZMQ_PRIV_H
#define STILLPOINT_PEER_ZMQ_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>

#include "supervisor/net/peer_core.h"
#include "supervisor/net/peer_zmq.h"

#define LINK_QUEUE_MAX	((size_t)2 * PEER_DATA_MAX)	/* bytes for one node */
#define ALL_QUEUE_MAX	((size_t)8 * PEER_DATA_MAX)	/* the same, for all nodes */
#define QUEUE_MESSAGES	1000			/* for one node */
#define RECEIVE_MESSAGES 16			/* from one node, not read yet */
#define HEARTBEAT_MS	2000
/* missed ones before silence counts; the longest message at 100 Mbit/s takes 3 */
#define HEARTBEATS	5
#define TICK_MS		500
/* a first connection may take so long before the node counts as silent */
#define CONNECT_TICKS	10
#define SAY_SECONDS	60
#define ZAP_SAID_MAX	32

struct packet;
struct peer_zmq;

/* The connection that carries our messages to one node. */
struct peer_link {
	struct peer_zmq *zmq;
	unsigned int host;
	void *sock, *monitor;		/* NULL: no message yet */
	struct reactor_source *source;	/* the monitor's */
	enum peer_state state;
	time_t since, said;
	unsigned int ticks;		/* since the first message */
	unsigned int connected;		/* tick of the last connection, before the key exchange */
	unsigned int failures;		/* failed key exchanges in a row */
	unsigned int renew;		/* ticks until a new socket is made; 0: none is due */
	unsigned int serial;
	struct packet *pending, **pending_end;	/* messages until the first connection */
	atomic_size_t queued;		/* bytes pending or in libzmq */
};

/* A client that was refused, and when that was last logged. */
struct zap_said {
	char who[128];
	time_t when;
};

struct peer_zmq {
	struct peer peer;
	struct reactor *reactor;
	struct log log;
	void *ctx;
	void *in, *zap, *watch;		/* watch: events of in */
	struct reactor_source *in_source, *zap_source, *watch_source;
	struct reactor_source *again, *tick;
	struct node_key key;
	int heartbeat_ms;
	struct peer_link *links;	/* [hosts->nr] */
	atomic_size_t queued;
	struct zap_said said[ZAP_SAID_MAX];
	time_t handshake_said;
};

static inline struct peer_zmq *peer_zmq(struct peer *peer)
{
	return (struct peer_zmq *)peer;
}

/* peer_zmq.c */
int zmq_int(void *sock, int option, int value);
/* Set heartbeats, limits and no lingering, as for all of this file's sockets. */
int zmq_common(struct peer_zmq *z, void *sock);
bool zmq_readable(void *sock);
bool zmq_writable(void *sock);
int zmq_source(struct peer_zmq *z, void *sock, reactor_fd_fn fn, void *arg,
	       struct reactor_source **ret_source);
/* Report events of @sock on a socket of their own; -errno. */
int zmq_watch(struct peer_zmq *z, void *sock, const char *name, reactor_fd_fn fn, void *arg,
	      void **ret_monitor, struct reactor_source **ret_source);
/* Get the next of these events; -EAGAIN: there is none. */
int zmq_next_event(void *monitor, unsigned int *ret_event, unsigned int *ret_value);

/* peer_link.c */
void link_init(struct peer_zmq *z, unsigned int host);
int link_send(struct peer_link *link, uint8_t *bytes, size_t len);
void link_tick(struct peer_link *link);
void link_close(struct peer_link *link);

/* peer_zap.c */
int zap_open(struct peer_zmq *z);
void zap_close(struct peer_zmq *z);
/* The host that sent a message, by the user id of the key check; -ENOENT. */
int zap_host(const char *user_id);

#endif /* STILLPOINT_PEER_ZMQ_PRIV_H */
