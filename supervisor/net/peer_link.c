// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection that carries messages to one node: PUSH, CURVE client.
 *
 * It is made by the first message. Messages wait in @pending while the first connection is
 * being made; after that a message is accepted only while there is a connection, and
 * messages that libzmq has queued when a connection breaks are lost: late orders are worse
 * than none. The state follows libzmq's events. libzmq reconnects by itself for ever,
 * except after a refusal and after an answer that is no ZMTP, which it takes for final; so
 * a new socket is made after each connection that ends, unless libzmq connects again
 * before.
 *
 * Waiting bytes are counted, per node and in all. libzmq's thread subtracts bytes that it
 * has sent, so the counters outlive the sockets.
 */
#include "supervisor/net/peer_zmq_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define RENEW_TICKS	4
#define SLOW_TICKS	8	/* less than ZMQ_HANDSHAKE_IVL, more than a refusal takes */

struct packet {
	struct packet *next;
	struct peer_link *link;
	uint8_t *bytes;
	size_t len;
};

static void packet_free(struct packet *packet)
{
	struct peer_link *link = packet->link;

	atomic_fetch_sub(&link->zmq->queued, packet->len);
	atomic_fetch_sub(&link->queued, packet->len);
	free(packet->bytes);
	free(packet);
}

/* Called in libzmq's thread. */
static void peer_link_on_sent(void *data, void *hint)
{
	packet_free(hint);
}

static const struct host *link_host(const struct peer_link *link)
{
	return &link->zmq->peer.hosts->host[link->host];
}

static void set_state(struct peer_link *link, enum peer_state state)
{
	if (link->state == state)
		return;
	log_debug(&link->zmq->log, "node %s: %s", link_host(link)->name,
		  peer_state_text(state));
	link->state = state;
	link->since = time(NULL);
}

static void pending_drop(struct peer_link *link)
{
	struct packet *packet;

	while ((packet = link->pending)) {
		link->pending = packet->next;
		packet_free(packet);
	}
	link->pending_end = &link->pending;
}

void link_init(struct peer_zmq *z, unsigned int host)
{
	struct peer_link *link = &z->links[host];

	link->zmq = z;
	link->host = host;
	link->state = PEER_IDLE;
	link->pending_end = &link->pending;
}

/* --------------------------------------------------------------- sockets */

static void sockets_close(struct peer_link *link)
{
	reactor_remove(link->source);
	link->source = NULL;
	if (link->sock)
		zmq_socket_monitor(link->sock, NULL, 0);
	if (link->monitor)
		zmq_close(link->monitor);
	if (link->sock)
		zmq_close(link->sock);
	link->sock = link->monitor = NULL;
}

void link_close(struct peer_link *link)
{
	sockets_close(link);
	pending_drop(link);
}

static int set_keys(struct peer_link *link)
{
	const struct node_key *key = &link->zmq->key;
	void *sock = link->sock;

	if (zmq_setsockopt(sock, ZMQ_CURVE_SERVERKEY, link_host(link)->key, NODE_KEY_BYTES) ||
	    zmq_setsockopt(sock, ZMQ_CURVE_PUBLICKEY, key->public, NODE_KEY_BYTES) ||
	    zmq_setsockopt(sock, ZMQ_CURVE_SECRETKEY, key->secret, NODE_KEY_BYTES))
		return -zmq_errno();
	return 0;
}

static void peer_link_on_event(uint32_t events, void *arg);

static int sockets_open(struct peer_link *link)
{
	const struct host *host = link_host(link);
	struct peer_zmq *z = link->zmq;
	int64_t max = 65536;	/* only heartbeats come back */
	char text[300];
	int err;

	link->sock = zmq_socket(z->ctx, ZMQ_PUSH);
	if (!link->sock)
		return -zmq_errno();
	err = zmq_common(z, link->sock);
	if (!err)
		err = zmq_int(link->sock, ZMQ_IMMEDIATE, 1);
	if (!err && zmq_setsockopt(link->sock, ZMQ_MAXMSGSIZE, &max, sizeof(max)))
		err = -zmq_errno();
	if (!err)
		err = set_keys(link);
	snprintf(text, sizeof(text), "inproc://link-%u-%u", link->host, link->serial++);
	if (!err)
		err = zmq_watch(z, link->sock, text, peer_link_on_event, link, &link->monitor,
				&link->source);
	snprintf(text, sizeof(text), "tcp://%s:%u", host->address, host->port);
	if (!err && zmq_connect(link->sock, text))
		err = -zmq_errno();
	if (err)
		sockets_close(link);
	return err;
}

static bool link_open(struct peer_link *link)
{
	int err;

	if (link->sock)
		return true;
	err = sockets_open(link);
	if (err) {
		log_warning(&link->zmq->log, "no connection to node %s at %s: %s",
			    link_host(link)->name, link_host(link)->address, zmq_strerror(-err));
		set_state(link, PEER_DOWN);
		return false;
	}
	if (link->state == PEER_IDLE) {
		link->ticks = 0;
		set_state(link, PEER_CONNECTING);
	}
	return true;
}

/* --------------------------------------------------------------- sending */

static int peer_link_push(struct peer_link *link, struct packet *packet)
{
	zmq_msg_t msg;

	if (!zmq_writable(link->sock)) {
		packet_free(packet);
		return -EAGAIN;
	}
	if (zmq_msg_init_data(&msg, packet->bytes, packet->len, peer_link_on_sent, packet)) {
		packet_free(packet);
		return -ENOMEM;
	}
	if (zmq_msg_send(&msg, link->sock, ZMQ_DONTWAIT) < 0) {
		zmq_msg_close(&msg);	/* frees the packet */
		return -EAGAIN;
	}
	return 0;
}

static void flush_pending(struct peer_link *link)
{
	struct packet *packet;

	while ((packet = link->pending)) {
		link->pending = packet->next;
		peer_link_push(link, packet);
	}
	link->pending_end = &link->pending;
}

/* True if @len more bytes fit the limit of this node and that of all. */
static bool has_room(struct peer_link *link, size_t len)
{
	return atomic_load(&link->queued) + len <= LINK_QUEUE_MAX &&
	       atomic_load(&link->zmq->queued) + len <= ALL_QUEUE_MAX;
}

int link_send(struct peer_link *link, uint8_t *bytes, size_t len)
{
	struct packet *packet = NULL;
	int err = 0;

	if (!link_open(link) || (link->state != PEER_UP && link->state != PEER_CONNECTING))
		err = -EHOSTUNREACH;
	else if (!has_room(link, len))
		err = -EAGAIN;
	else
		packet = malloc(sizeof(*packet));
	if (!packet) {
		free(bytes);
		return err ? err : -ENOMEM;
	}
	*packet = (struct packet) { .link = link, .bytes = bytes, .len = len };
	atomic_fetch_add(&link->queued, len);
	atomic_fetch_add(&link->zmq->queued, len);
	if (link->state == PEER_UP)
		return peer_link_push(link, packet);
	*link->pending_end = packet;
	link->pending_end = &packet->next;
	return 0;
}

/* ---------------------------------------------------------------- events */

static void peer_link_refused(struct peer_link *link, bool by_it)
{
	const struct host *host = link_host(link);
	time_t now = time(NULL);

	set_state(link, PEER_REFUSED);
	pending_drop(link);
	link->renew = RENEW_TICKS;
	if (link->said && now >= link->said && now - link->said < SAY_SECONDS)
		return;
	link->said = now;
	if (by_it)
		log_warning(&link->zmq->log,
			    "node %s refuses the key of this node: copy the hosts file with this "
			    "node's line there",
			    host->name);
	else
		log_warning(&link->zmq->log,
			    "what listens at %s:%u has not the key that the hosts file has for "
			    "node %s",
			    host->address, host->port, host->name);
}

static void went_down(struct peer_link *link)
{
	if (link->state == PEER_UP)
		log_info(&link->zmq->log, "node %s does not answer any more",
			 link_host(link)->name);
	set_state(link, PEER_DOWN);
	pending_drop(link);
}

/*
 * The node's event loop checks keys: a busy node does not answer in time, which proves
 * nothing about keys.
 */
static void no_handshake(struct peer_link *link, bool said)
{
	if (!said && link->ticks - link->connected >= SLOW_TICKS)
		went_down(link);
	else if (++link->failures > 1)	/* the first time, it may just have died */
		peer_link_refused(link, false);
}

static void take_event(struct peer_link *link, unsigned int event)
{
	switch (event) {
	case ZMQ_EVENT_CONNECTED:
		link->connected = link->ticks;
		link->renew = 0;	/* ends with an event in any case */
		break;
	case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
		log_info(&link->zmq->log, "node %s answers", link_host(link)->name);
		set_state(link, PEER_UP);
		link->failures = link->renew = 0;
		link->said = 0;
		flush_pending(link);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
		peer_link_refused(link, true);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
		no_handshake(link, false);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		no_handshake(link, true);
		break;
	case ZMQ_EVENT_DISCONNECTED:
		if (link->state == PEER_UP)
			went_down(link);
		link->renew = RENEW_TICKS;
		break;
	case ZMQ_EVENT_CLOSED:		/* no process listens there */
		if (link->state == PEER_REFUSED)
			went_down(link);
		link->failures = 0;
		break;
	}
}

static void peer_link_on_event(uint32_t events, void *arg)
{
	struct peer_link *link = arg;
	unsigned int event, value;

	while (link->monitor && !zmq_next_event(link->monitor, &event, &value))
		take_event(link, event);
}

void link_tick(struct peer_link *link)
{
	if (!link->sock)
		return;
	link->ticks++;
	if (link->state == PEER_CONNECTING && link->ticks >= CONNECT_TICKS)
		went_down(link);
	if (link->renew && !--link->renew) {
		sockets_close(link);
		link_open(link);
		return;
	}
	/* take note of what libzmq's thread has told the socket since */
	zmq_writable(link->sock);
	peer_link_on_event(0, link);
}
