/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between peer.c (what messages mean) and the transport that carries them
 * (peer_zmq.c).
 *
 * The transport knows nodes by their index in the hosts file and messages as bytes. Before
 * it calls peer_deliver(), it has established by the key which node sent the bytes.
 */
#ifndef STILLPOINT_PEER_CORE_H
#define STILLPOINT_PEER_CORE_H

#include "hosts/hosts.h"
#include "base/log.h"
#include "supervisor/net/peer.h"

/* Size of an envelope without its data, at most. */
#define PEER_ENVELOPE_MAX 256

struct peer_ops {
	/*
	 * Send @bytes, from malloc(), which are taken over in any case. Errors as of
	 * peer_send().
	 */
	int (*send)(struct peer *peer, unsigned int host, uint8_t *bytes, size_t len);
	/* The state of a node: IDLE ... REFUSED. */
	enum peer_state (*state)(const struct peer *peer, unsigned int host, time_t *ret_since);
	void (*close)(struct peer *peer);
};

struct peer_job;

struct peer_receiver {
	peer_receive_fn fn;
	void *arg;
};

struct peer_host {
	time_t heard;
	uint32_t version;	/* protocol version that it spoke last, if not ours */
	time_t other_since;
	time_t said;		/* when a complaint about it was last logged */
};

struct peer {
	const struct peer_ops *ops;
	const struct hosts *hosts;	/* must outlive the peer */
	const struct log *log;
	unsigned int self;
	uint32_t version;		/* PEER_VERSION, except in tests */
	struct peer_host *host;		/* [hosts->nr] */
	struct peer_job *jobs;
	unsigned int nr_jobs;
	struct peer_receiver receivers[PEER_TYPES];
};

int peer_init(struct peer *peer, const struct peer_ops *ops, const struct hosts *hosts,
	      unsigned int self, const struct log *log);
void peer_done(struct peer *peer);
/* Handle one message of @host. Messages not understood are logged, once a minute, and dropped. */
void peer_deliver(struct peer *peer, unsigned int host, const uint8_t *bytes, size_t len);

#endif /* STILLPOINT_PEER_CORE_H */
