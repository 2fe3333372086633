/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages between ckptds over ZeroMQ with CURVE, in a reactor.
 *
 * A node listens with one socket and sends over one connection to each node that it has
 * messages for. A connection is made by the first message for a node, is remade for ever,
 * and counts as dead when it is silent (heartbeats).
 */
#ifndef STILLPOINT_PEER_ZMQ_H
#define STILLPOINT_PEER_ZMQ_H

#include "hosts/hosts.h"
#include "base/log.h"
#include "supervisor/net/peer.h"
#include "base/reactor.h"

struct peer_zmq_config {
	struct reactor *reactor;
	const struct log *log;
	const struct hosts *hosts;	/* must outlive the peer */
	unsigned int self;
	const struct node_key *key;	/* used during the call */
	const char *listen;		/* ADDRESS or "*"; the port comes from the hosts file */
	unsigned int heartbeat_ms;	/* 0: default */
	uint32_t version;		/* 0: PEER_VERSION */
};

/*
 * -EADDRINUSE, -EADDRNOTAVAIL, -EKEYREJECTED (the hosts file has another key for this
 * node), -ENOMEM, ...
 */
int peer_zmq_open(const struct peer_zmq_config *config, struct peer **ret_peer);

#endif /* STILLPOINT_PEER_ZMQ_H */
