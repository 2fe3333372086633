// SPDX-License-Identifier: GPL-2.0-only
/*
 * Daemons that talk to each other in one process; see peer_fixture.h.
 */
#include "tests/unit/peer_fixture.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/net/peer_zmq.h"

static const struct log quiet = { .name = "test", .level = LOG_LEVEL_ERROR };

/* ---------------------------------------------------------------- running */

static void on_stop(void *arg)
{
	reactor_stop(arg);
}

void node_turn(struct node *n)
{
	struct reactor_source *source;

	if (!n->reactor)
		return;
	assert_int_equal(reactor_timer(n->reactor, 2, on_stop, n->reactor, &source), 0);
	assert_int_equal(reactor_run(n->reactor), 0);
}

void nodes_turn(struct node *nodes, int n)
{
	int i;

	while (n--)
		for (i = 0; i < NODES; i++)
			node_turn(&nodes[i]);
}

static void on_message(const struct peer_msg *msg, void *arg)
{
	struct node *n = arg;
	const uint8_t *data = msg->data;

	n->received++;
	n->last = *msg;
	n->last.data = NULL;
	if (msg->len) {
		n->first_byte = data[0];
		n->last_byte = data[msg->len - 1];
	}
}

enum peer_state state_of(struct node *n, unsigned int node)
{
	struct peer_node info;

	peer_node(n->peer, node, &info);
	return info.state;
}

int nodes_start(struct node *nodes, unsigned int i)
{
	struct node *n = &nodes[i];
	struct peer_zmq_config config;
	int err;

	n->hosts = (struct hosts) { n->host, NODES };
	assert_int_equal(reactor_create(&n->reactor), 0);
	config = (struct peer_zmq_config){
		.reactor = n->reactor,
		.log = &quiet,
		.hosts = &n->hosts,
		.self = i,
		.key = &n->key,
		.listen = "*",
		.heartbeat_ms = n->heartbeat_ms,
		.version = n->version,
	};
	err = peer_zmq_open(&config, &n->peer);
	if (err) {
		reactor_destroy(n->reactor);
		n->reactor = NULL;
		return err;
	}
	assert_int_equal(peer_asks_open(n->peer, n->reactor, &n->asks), 0);
	peer_receive(n->peer, PEER_FENCE_UP, on_message, n);
	peer_receive(n->peer, PEER_PROBE, on_message, n);
	peer_receive(n->peer, PEER_PROBE_BACK, on_message, n);
	return 0;
}

void nodes_stop(struct node *nodes, unsigned int i)
{
	struct node *n = &nodes[i];

	if (!n->reactor)
		return;
	peer_asks_close(n->asks);
	peer_close(n->peer);
	reactor_destroy(n->reactor);
	n->reactor = NULL;
	n->asks = NULL;
	n->peer = NULL;
}

uint16_t free_port(int *ret_sock)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(sock >= 0 && !bind(sock, (struct sockaddr *)&addr, len) &&
		    !getsockname(sock, (struct sockaddr *)&addr, &len));
	*ret_sock = sock;
	return ntohs(addr.sin_port);
}

int nodes_setup(void **state)
{
	struct node *nodes = calloc(NODES, sizeof(*nodes));
	struct host host[NODES];
	int i, sock[NODES];

	assert_non_null(nodes);
	for (i = 0; i < NODES; i++) {
		crypto_box_keypair(nodes[i].key.public, nodes[i].key.secret);
		host[i] = (struct host) { .port = free_port(&sock[i]), .address = "127.0.0.1" };
		snprintf(host[i].name, sizeof(host[i].name), "n%d", i);
		memcpy(host[i].key, nodes[i].key.public, NODE_KEY_BYTES);
	}
	for (i = 0; i < NODES; i++) {
		close(sock[i]);
		memcpy(nodes[i].host, host, sizeof(host));
	}
	*state = nodes;
	return 0;
}

int nodes_teardown(void **state)
{
	struct node *nodes = *state;
	unsigned int i;

	for (i = 0; i < NODES; i++) {
		json_decref(nodes[i].outcome);
		nodes_stop(nodes, i);
	}
	free(nodes);
	return 0;
}

int nodes_probe(struct node *nodes, unsigned int from, unsigned int to, uint64_t number)
{
	const struct peer_msg msg = { .node = to, .type = PEER_PROBE, .number = number };

	return peer_send(nodes[from].peer, &msg);
}
