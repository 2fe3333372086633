// SPDX-License-Identifier: GPL-2.0-only
/*
 * The key check: libzmq asks for every connection (ZAP, RFC 27), and the answer's user id
 * accompanies every message that comes over the connection.
 *
 * A key is accepted if the hosts file has it for another node. The address does not count,
 * as nodes may have several. A refused client (address and key) is logged once a minute,
 * and only so many different ones are remembered that a flood of strangers cannot fill the
 * log.
 */
#include "supervisor/net/peer_zmq_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

struct zap_request {
	char id[256];
	size_t id_len;
	char address[64];
	char mechanism[16];
	uint8_t key[NODE_KEY_BYTES];
	bool good;
};

/* Receive a frame of at most @size bytes; true if it fits. */
static bool peer_zap_frame(void *sock, void *buf, size_t size, size_t *ret_len)
{
	int n = zmq_recv(sock, buf, size, ZMQ_DONTWAIT);

	*ret_len = n > 0 ? (size_t)n : 0;
	return n >= 0 && (size_t)n <= size;
}

static bool text_frame(void *sock, char *buf, size_t size)
{
	size_t len;
	bool fits = peer_zap_frame(sock, buf, size - 1, &len);

	buf[fits ? len : 0] = '\0';
	return fits;
}

static bool has_more(void *sock)
{
	int more = 0;
	size_t size = sizeof(more);

	return !zmq_getsockopt(sock, ZMQ_RCVMORE, &more, &size) && more;
}

static bool receive_request(void *sock, struct zap_request *request)
{
	char text[256];
	size_t len;

	memset(request, 0, sizeof(*request));
	if (!text_frame(sock, text, sizeof(text)))
		return false;
	request->good = !strcmp(text, "1.0") && has_more(sock) &&
		peer_zap_frame(sock, request->id, sizeof(request->id), &request->id_len) &&
		has_more(sock) && text_frame(sock, text, sizeof(text)) &&
		!strcmp(text, "stillpoint") && has_more(sock) &&
		text_frame(sock, request->address, sizeof(request->address)) &&
		has_more(sock) && peer_zap_frame(sock, text, sizeof(text), &len) &&
		has_more(sock) &&
		text_frame(sock, request->mechanism, sizeof(request->mechanism)) &&
		!strcmp(request->mechanism, "CURVE") && has_more(sock) &&
		peer_zap_frame(sock, request->key, sizeof(request->key), &len) &&
		len == sizeof(request->key);
	while (has_more(sock) && zmq_recv(sock, text, sizeof(text), ZMQ_DONTWAIT) >= 0)
		request->good = false;
	return true;
}

static void peer_zap_answer(void *sock, const struct zap_request *request, int host)
{
	char user[16] = "";

	if (host >= 0)
		snprintf(user, sizeof(user), "%d", host);
	zmq_send(sock, "1.0", 3, ZMQ_DONTWAIT | ZMQ_SNDMORE);
	zmq_send(sock, request->id, request->id_len, ZMQ_DONTWAIT | ZMQ_SNDMORE);
	zmq_send(sock, host >= 0 ? "200" : "400", 3, ZMQ_DONTWAIT | ZMQ_SNDMORE);
	zmq_send(sock, "", 0, ZMQ_DONTWAIT | ZMQ_SNDMORE);
	zmq_send(sock, user, strlen(user), ZMQ_DONTWAIT | ZMQ_SNDMORE);
	zmq_send(sock, "", 0, ZMQ_DONTWAIT);
}

/* True if the last log line about @who is old enough. */
static bool peer_zap_may_say(struct peer_zmq *z, const char *who)
{
	struct zap_said *s, *oldest = z->said;
	time_t now = time(NULL);

	for (s = z->said; s < z->said + ZAP_SAID_MAX; s++) {
		if (!strcmp(s->who, who)) {
			oldest = s;
			break;
		}
		if (s->when < oldest->when)
			oldest = s;
	}
	if (oldest->when && now >= oldest->when && now - oldest->when < SAY_SECONDS)
		return false;
	snprintf(oldest->who, sizeof(oldest->who), "%s", who);
	oldest->when = now;
	return true;
}

/* The only node that the hosts file has at that address; NULL: none, or several. */
static const char *name_at(const struct peer_zmq *z, const char *address)
{
	const struct hosts *hosts = z->peer.hosts;
	const char *name = NULL;
	unsigned int i;

	for (i = 0; i < hosts->nr; i++) {
		if (strcmp(hosts->host[i].address, address))
			continue;
		if (name)
			return NULL;
		name = hosts->host[i].name;
	}
	return name;
}

static void say_refused(struct peer_zmq *z, const struct zap_request *request, bool own)
{
	const char *address = request->address, *name;
	char key[NODE_KEY_TEXT], who[128];

	if (!strncmp(address, "::ffff:", 7))
		address += 7;
	node_key_text(request->key, key);
	snprintf(who, sizeof(who), "%s %s", address, key);
	if (!peer_zap_may_say(z, who))
		return;
	name = name_at(z, address);
	if (own)
		log_warning(&z->log,
			    "refused: a ckptd at %s has the key of this node; every node needs one "
			    "of its own (ckptctl keygen --force there)",
			    address);
	else
		log_warning(&z->log,
			    "refused: a ckptd at %s%s%s%s has the public key %s, which is not in "
			    "the hosts file of this node",
			    address, name ? " (where node " : "", name ? name : "",
			    name ? " should be)" : "", key);
}

static void on_zap(uint32_t events, void *arg)
{
	struct peer_zmq *z = arg;
	struct zap_request request;

	while (zmq_readable(z->zap) && receive_request(z->zap, &request)) {
		int host = request.good ? hosts_find_key(z->peer.hosts, request.key) : -EPROTO;
		bool own = host == (int)z->peer.self;

		if (request.good && (host < 0 || own))
			say_refused(z, &request, own);
		peer_zap_answer(z->zap, &request, own ? -EPERM : host);
	}
}

int zap_host(const char *user_id)
{
	char *end;
	long host;

	if (!user_id || !*user_id)
		return -ENOENT;
	host = strtol(user_id, &end, 10);
	return *end || host < 0 || host >= HOSTS_MAX ? -ENOENT : (int)host;
}

int zap_open(struct peer_zmq *z)
{
	int err;

	z->zap = zmq_socket(z->ctx, ZMQ_REP);
	if (!z->zap)
		return -zmq_errno();
	err = zmq_int(z->zap, ZMQ_LINGER, 0);
	if (!err && zmq_bind(z->zap, "inproc://zeromq.zap.01"))
		err = -zmq_errno();
	return err ? err : zmq_source(z, z->zap, on_zap, z, &z->zap_source);
}

void zap_close(struct peer_zmq *z)
{
	reactor_remove(z->zap_source);
	if (z->zap)
		zmq_close(z->zap);
}
