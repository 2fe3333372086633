/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other node daemons, as what works on a job sees them: messages to a node of the
 * job by its number in the rank map, and messages from there.
 *
 * A message comes whole, once, or not at all; of two, either may come first.  Who needs
 * more repeats and numbers.  An unreachable node is not a dead one.  Who the sender is has
 * been established (keys); that it belongs to the job with that number, too.
 */
#ifndef STILLPOINT_PEER_H
#define STILLPOINT_PEER_H

#include <stddef.h>
#include <stdint.h>

#define PEER_DATA_MAX	(64u << 20)

enum peer_type {
	PEER_FENCE_UP = 1,	/* number: which fence; data: blocks of a subtree */
	PEER_FENCE_DOWN = 2,	/* the same; data: all blocks */
	PEER_JOB_ABORT = 3,	/* number: exit status; data: text */
};

struct peer_msg {
	int64_t job;
	uint64_t run;		/* generation that it was restarted from; 0: none */
	unsigned int node;	/* to or from, by the rank map */
	enum peer_type type;
	uint64_t number;
	const void *data;	/* valid during the call */
	size_t len;
};

struct peer;

struct peer_ops {
	/* 0; -EHOSTUNREACH, -EMSGSIZE, -ENOMEM: it was not taken. */
	int (*send)(struct peer *peer, const struct peer_msg *msg);
};

struct peer {
	const struct peer_ops *ops;
	/* Set by who works on jobs, before the first message. */
	void (*receive)(const struct peer_msg *msg, void *arg);
	void *arg;
};

#endif /* STILLPOINT_PEER_H */
