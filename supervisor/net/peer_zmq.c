// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages between ckptds over ZeroMQ; see peer_zmq.h.
 *
 * Owns the context and the listening socket (PULL, CURVE server). The sender of a message
 * is known by the user id that the key check (peer_zap.c) gave to its connection, never by
 * the message's contents. A ZeroMQ descriptor is edge-triggered, and any call on its socket
 * may consume an edge: each handler goes on until ZMQ_EVENTS shows no more.
 *
 * Everything here belongs to the event loop; libzmq's own thread only frees packets. No
 * worker (fork) may use any of it.
 */
#include "supervisor/net/peer_zmq_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/cleanup.h"

#define ROUND	64		/* messages handled before other handlers get their turn */

int zmq_int(void *sock, int option, int value)
{
	return zmq_setsockopt(sock, option, &value, sizeof(value)) ? -zmq_errno() : 0;
}

static int events_of(void *sock)
{
	int events = 0;
	size_t size = sizeof(events);

	return zmq_getsockopt(sock, ZMQ_EVENTS, &events, &size) ? 0 : events;
}

bool zmq_readable(void *sock)
{
	return events_of(sock) & ZMQ_POLLIN;
}

bool zmq_writable(void *sock)
{
	return events_of(sock) & ZMQ_POLLOUT;
}

int zmq_source(struct peer_zmq *z, void *sock, reactor_fd_fn fn, void *arg,
	       struct reactor_source **ret_source)
{
	size_t size = sizeof(int);
	int fd;

	if (zmq_getsockopt(sock, ZMQ_FD, &fd, &size))
		return -zmq_errno();
	return reactor_fd(z->reactor, fd, EPOLLIN, fn, arg, ret_source);
}

int zmq_common(struct peer_zmq *z, void *sock)
{
	static const struct {
		int option, value;
	} rows[] = {
		{ ZMQ_LINGER, 0 },
		{ ZMQ_IPV6, 1 },
		{ ZMQ_SNDHWM, QUEUE_MESSAGES },
		{ ZMQ_RCVHWM, RECEIVE_MESSAGES },
		{ ZMQ_HANDSHAKE_IVL, 5000 },
		{ ZMQ_CONNECT_TIMEOUT, 3000 },
		{ ZMQ_RECONNECT_IVL, 100 },
		{ ZMQ_RECONNECT_IVL_MAX, 2000 },
		{ ZMQ_TCP_MAXRT, 10000 },
	};
	int err = zmq_int(sock, ZMQ_HEARTBEAT_IVL, z->heartbeat_ms);
	size_t i;

	if (!err)
		err = zmq_int(sock, ZMQ_HEARTBEAT_TIMEOUT, z->heartbeat_ms * HEARTBEATS);
	if (!err)
		err = zmq_int(sock, ZMQ_HEARTBEAT_TTL, z->heartbeat_ms * HEARTBEATS);
	for (i = 0; i < ARRAY_SIZE(rows) && !err; i++)
		err = zmq_int(sock, rows[i].option, rows[i].value);
	return err;
}

/* ---------------------------------------------------------------- events */

int zmq_watch(struct peer_zmq *z, void *sock, const char *name, reactor_fd_fn fn, void *arg,
	      void **ret_monitor, struct reactor_source **ret_source)
{
	void *monitor;
	int err;

	if (zmq_socket_monitor(sock, name, ZMQ_EVENT_ALL))
		return -zmq_errno();
	monitor = zmq_socket(z->ctx, ZMQ_PAIR);
	if (!monitor)
		return -zmq_errno();
	err = zmq_int(monitor, ZMQ_LINGER, 0);
	if (!err && zmq_connect(monitor, name))
		err = -zmq_errno();
	if (!err)
		err = zmq_source(z, monitor, fn, arg, ret_source);
	if (err) {
		zmq_close(monitor);
		return err;
	}
	*ret_monitor = monitor;
	/* libzmq takes this reader for awake until the reader has once found the pipe empty. */
	fn(0, arg);
	return 0;
}

int zmq_next_event(void *monitor, unsigned int *ret_event, unsigned int *ret_value)
{
	uint8_t head[6];
	uint16_t event;
	uint32_t value;
	char address[512];

	if (!zmq_readable(monitor) ||
	    zmq_recv(monitor, head, sizeof(head), ZMQ_DONTWAIT) != sizeof(head))
		return -EAGAIN;
	zmq_recv(monitor, address, sizeof(address), ZMQ_DONTWAIT);
	memcpy(&event, head, sizeof(event));
	memcpy(&value, head + sizeof(event), sizeof(value));
	*ret_event = event;
	*ret_value = value;
	return 0;
}

/* A client did not get as far as the key check: no ckptd, or one with an old key of this node. */
static void peer_zmq_on_watch(uint32_t events, void *arg)
{
	struct peer_zmq *z = arg;
	unsigned int event, value;
	time_t now = time(NULL);

	while (!zmq_next_event(z->watch, &event, &value)) {
		if (event != ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
		    (z->handshake_said && now >= z->handshake_said &&
		     now - z->handshake_said < SAY_SECONDS))
			continue;
		z->handshake_said = now;
		log_warning(&z->log,
			    "somebody who connected was refused: not a ckptd, or one whose hosts "
			    "file has another key for this node (protocol error 0x%x)",
			    value);
	}
}

/* ------------------------------------------------------------- receiving */

static void receive_one(struct peer_zmq *z)
{
	zmq_msg_t msg;
	int host;

	zmq_msg_init(&msg);
	if (zmq_msg_recv(&msg, z->in, ZMQ_DONTWAIT) >= 0) {
		host = zap_host(zmq_msg_gets(&msg, "User-Id"));
		if (host >= 0 && (unsigned int)host < z->peer.hosts->nr)
			peer_deliver(&z->peer, (unsigned int)host, zmq_msg_data(&msg),
				     zmq_msg_size(&msg));
	}
	zmq_msg_close(&msg);
}

static void peer_zmq_receive(struct peer_zmq *z);

static void peer_zmq_on_again(void *arg)
{
	struct peer_zmq *z = arg;

	z->again = NULL;
	peer_zmq_receive(z);
}

static void peer_zmq_receive(struct peer_zmq *z)
{
	int i;

	for (i = 0; i < ROUND; i++) {
		if (!zmq_readable(z->in))
			return;
		receive_one(z);
	}
	/* The edge may be consumed: come back without one. */
	if (!z->again)
		reactor_timer(z->reactor, 0, peer_zmq_on_again, z, &z->again);
}

static void on_in(uint32_t events, void *arg)
{
	peer_zmq_receive(arg);
}

/* ----------------------------------------------------------------- whole */

static int op_send(struct peer *peer, unsigned int host, uint8_t *bytes, size_t len)
{
	return link_send(&peer_zmq(peer)->links[host], bytes, len);
}

static enum peer_state op_state(const struct peer *peer, unsigned int host, time_t *ret_since)
{
	const struct peer_link *link = &((const struct peer_zmq *)peer)->links[host];

	*ret_since = link->since;
	return link->state;
}

static void op_close(struct peer *peer)
{
	struct peer_zmq *z = peer_zmq(peer);
	unsigned int i;

	reactor_remove(z->tick);
	reactor_remove(z->again);
	for (i = 0; z->links && i < peer->hosts->nr; i++)
		link_close(&z->links[i]);
	reactor_remove(z->watch_source);
	reactor_remove(z->in_source);
	if (z->in)
		zmq_socket_monitor(z->in, NULL, 0);
	if (z->watch)
		zmq_close(z->watch);
	if (z->in)
		zmq_close(z->in);
	zap_close(z);
	/* Nothing lingers; after this no packet is left that uses the links' counters. */
	if (z->ctx)
		zmq_ctx_term(z->ctx);
	free(z->links);
	node_key_wipe(&z->key);
	peer_done(peer);
	free(z);
}

static const struct peer_ops ops = { op_send, op_state, op_close };

static void peer_zmq_on_tick(void *arg)
{
	struct peer_zmq *z = arg;
	unsigned int i;

	z->tick = NULL;
	for (i = 0; i < z->peer.hosts->nr; i++)
		link_tick(&z->links[i]);
	reactor_timer(z->reactor, TICK_MS, peer_zmq_on_tick, z, &z->tick);
}

static int peer_zmq_listen_on(struct peer_zmq *z, const char *address)
{
	char endpoint[300];
	int err;

	z->in = zmq_socket(z->ctx, ZMQ_PULL);
	if (!z->in)
		return -zmq_errno();
	err = zmq_common(z, z->in);
	if (!err)
		err = zmq_int(z->in, ZMQ_CURVE_SERVER, 1);
	/* With a domain every connection is checked; messages without a user id are dropped. */
	if (!err && zmq_setsockopt(z->in, ZMQ_ZAP_DOMAIN, "stillpoint", 10))
		err = -zmq_errno();
	if (!err && zmq_setsockopt(z->in, ZMQ_CURVE_SECRETKEY, z->key.secret, NODE_KEY_BYTES))
		err = -zmq_errno();
	if (!err) {
		int64_t max = PEER_DATA_MAX + PEER_ENVELOPE_MAX + 256;	/* CURVE adds 33 */

		err = zmq_setsockopt(z->in, ZMQ_MAXMSGSIZE, &max, sizeof(max)) ?
		      -zmq_errno() : 0;
	}
	if (!err)
		err = zmq_watch(z, z->in, "inproc://watch", peer_zmq_on_watch, z, &z->watch,
				&z->watch_source);
	snprintf(endpoint, sizeof(endpoint), "tcp://%s:%u", address,
		 z->peer.hosts->host[z->peer.self].port);
	if (!err && zmq_bind(z->in, endpoint))
		err = -zmq_errno();
	return err ? err : zmq_source(z, z->in, on_in, z, &z->in_source);
}

static int open_all(struct peer_zmq *z, const struct peer_zmq_config *config)
{
	unsigned int i, nr = config->hosts->nr;
	int err;

	z->links = calloc(nr, sizeof(*z->links));
	z->ctx = zmq_ctx_new();
	if (!z->links || !z->ctx)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		link_init(z, i);
	/* two for each connection, and sometimes two more of one that is being closed */
	zmq_ctx_set(z->ctx, ZMQ_MAX_SOCKETS, (int)nr * 4 + 16);
	err = zap_open(z);
	if (!err)
		err = peer_zmq_listen_on(z, config->listen);
	if (!err)
		err = reactor_timer(z->reactor, TICK_MS, peer_zmq_on_tick, z, &z->tick);
	return err;
}

int peer_zmq_open(const struct peer_zmq_config *config, struct peer **ret_peer)
{
	const struct host *self = &config->hosts->host[config->self];
	struct peer_zmq *z;
	int err;

	if (memcmp(self->key, config->key->public, NODE_KEY_BYTES))
		return -EKEYREJECTED;
	z = calloc(1, sizeof(*z));
	if (!z)
		return -ENOMEM;
	z->reactor = config->reactor;
	z->log = *config->log;
	z->key = *config->key;
	z->heartbeat_ms = config->heartbeat_ms ? (int)config->heartbeat_ms : HEARTBEAT_MS;
	err = peer_init(&z->peer, &ops, config->hosts, config->self, &z->log);
	if (config->version)
		z->peer.version = config->version;
	if (!err)
		err = open_all(z, config);
	if (err) {
		op_close(&z->peer);
		return err;
	}
	*ret_peer = &z->peer;
	return 0;
}
