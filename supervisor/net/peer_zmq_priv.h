/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside of what carries messages: peer_zmq.c (the whole, receiving), peer_link.c (sending
 * to one node), peer_zap.c (whose key it is).
 */
#ifndef STILLPOINT_PEER_ZMQ_PRIV_H
#define STILLPOINT_PEER_ZMQ_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>

#include "supervisor/net/peer_core.h"
#include "supervisor/net/peer_zmq.h"

#define LINK_QUEUE_MAX	((size_t)2 * PEER_DATA_MAX)	/* bytes for one node */
#define ALL_QUEUE_MAX	((size_t)8 * PEER_DATA_MAX)	/* and for all */
#define QUEUE_MESSAGES	1000			/* for one node */
#define RECEIVE_MESSAGES 16			/* of one node, not read yet */
#define HEARTBEAT_MS	2000
#define HEARTBEATS	5	/* missed until it is silence; the longest message at 100 Mbit/s takes 3 */
#define TICK_MS		500
#define CONNECT_TICKS	10	/* a first connection gets so long before the node counts as silent */
#define SAY_SECONDS	60
#define ZAP_SAID_MAX	32

struct packet;
struct peer_zmq;

/* The connection for what we send to one node. */
struct peer_link {
	struct peer_zmq *zmq;
	unsigned int host;
	void *sock, *monitor;		/* NULL: not wanted yet */
	struct reactor_source *source;	/* the monitor's */
	enum peer_state state;
	time_t since, said;
	unsigned int ticks;		/* since it was first wanted */
	unsigned int connected;		/* tick of the last connection, before keys are exchanged */
	unsigned int failures;		/* of key exchanges in a row */
	unsigned int renew;		/* ticks until a new socket is made; 0: never */
	unsigned int serial;
	struct packet *pending, **pending_end;	/* until there is a connection */
	atomic_size_t queued;		/* bytes: pending or libzmq's */
};

/* Who was refused, and when that was last said. */
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
/* Heartbeats, limits, no lingering: what all of our sockets have. */
int zmq_common(struct peer_zmq *z, void *sock);
bool zmq_readable(void *sock);
bool zmq_writable(void *sock);
int zmq_source(struct peer_zmq *z, void *sock, reactor_fd_fn fn, void *arg,
	       struct reactor_source **ret_source);
/* Events of @sock on a socket of their own; -errno. */
int zmq_watch(struct peer_zmq *z, void *sock, const char *name, reactor_fd_fn fn, void *arg,
	      void **ret_monitor, struct reactor_source **ret_source);
/* Next of them; -EAGAIN. */
int zmq_next_event(void *monitor, unsigned int *ret_event, unsigned int *ret_value);

/* peer_link.c */
void link_init(struct peer_zmq *z, unsigned int host);
int link_send(struct peer_link *link, uint8_t *bytes, size_t len);
void link_tick(struct peer_link *link);
void link_close(struct peer_link *link);

/* peer_zap.c */
int zap_open(struct peer_zmq *z);
void zap_close(struct peer_zmq *z);
/* The host that a message is from, as zap_open()'s handler found it; -ENOENT. */
int zap_host(const char *user_id);

#endif /* STILLPOINT_PEER_ZMQ_PRIV_H */
