/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between peer.c (what messages mean) and what carries them (peer_zmq.c).
 *
 * What carries knows nodes by their index in the hosts file and messages as bytes;
 * whoever calls peer_deliver() has established by its key which node sent them.
 */
#ifndef STILLPOINT_PEER_CORE_H
#define STILLPOINT_PEER_CORE_H

#include "hosts/hosts.h"
#include "base/log.h"
#include "supervisor/net/peer.h"

/* Room that an envelope takes besides its data. */
#define PEER_ENVELOPE_MAX 256

struct peer_ops {
	/* @bytes from malloc() are taken over in any case.  Errors as of peer_send(). */
	int (*send)(struct peer *peer, unsigned int host, uint8_t *bytes, size_t len);
	/* IDLE ... REFUSED */
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
	uint32_t version;	/* spoken last, if it is not ours */
	time_t other_since;
	time_t said;		/* when it was last complained about */
};

struct peer {
	const struct peer_ops *ops;
	const struct hosts *hosts;	/* outlive us */
	const struct log *log;
	unsigned int self;
	uint32_t version;		/* PEER_VERSION, but in tests */
	struct peer_host *host;		/* [hosts->nr] */
	struct peer_job *jobs;
	unsigned int nr_jobs;
	struct peer_receiver receivers[PEER_TYPES];
};

int peer_init(struct peer *peer, const struct peer_ops *ops, const struct hosts *hosts,
	      unsigned int self, const struct log *log);
void peer_done(struct peer *peer);
/* One message of @host. What is not understood is logged, once a minute, and dropped. */
void peer_deliver(struct peer *peer, unsigned int host, const uint8_t *bytes, size_t len);

#endif /* STILLPOINT_PEER_CORE_H */
