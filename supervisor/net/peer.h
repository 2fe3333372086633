/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other node daemons, as what works on a job sees them: messages to a node of the
 * job by its number in the rank map, and messages from there.
 *
 * A message comes whole, once, or not at all; of two, either may come first.  Who needs
 * more repeats and numbers.  An unreachable node is not a dead one.  Who the sender is has
 * been established (keys); that it belongs to the job with that number, too.
 *
 * Nodes have a second number, their index in the hosts file: messages between daemons
 * (job 0) go by that.  It is this node's own affair and never sent.
 */
#ifndef STILLPOINT_PEER_H
#define STILLPOINT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "coord/coord_msg.h"

#define PEER_VERSION	2	/* of the protocol between ckptds; of coord_msg.h, too */
#define PEER_DATA_MAX	(64u << 20)
#define PEER_JOBS_MAX	4096

enum peer_type {
	/* of a job */
	PEER_FENCE_UP = 1,	/* number: which fence; data: blocks of a subtree */
	PEER_FENCE_DOWN = 2,	/* the same; data: all blocks */
	PEER_JOB_ABORT = 3,	/* number: exit status; data: text */
	PEER_COORD = 4,		/* data: struct coord_msg, coord_msg_size() bytes of it */
	/* between daemons: job 0 */
	PEER_PROBE = 16,	/* number: to be given back */
	PEER_PROBE_BACK = 17,	/* data: Health of peer.proto */
	PEER_ASK = 18,		/* peer_ask.h has these two */
	PEER_ANSWER = 19,
	PEER_TYPES = 32
};

struct peer_msg {
	int64_t job;		/* 0: between daemons */
	uint64_t run;		/* of the job: a restart has a greater one */
	unsigned int node;	/* to or from, by the rank map; of job 0: by the hosts file */
	enum peer_type type;
	uint64_t number;
	const void *data;	/* valid during the call */
	size_t len;
};

struct peer;
/*
 * peer_send() - never waits
 *
 * 0: it was taken (and may still be lost).  It was not:
 * -EHOSTUNREACH: the node does not answer, or one of us refuses the other.
 * -EAGAIN: too much is queued for that node; later.
 * -EMSGSIZE; -ENOMEM.
 * -EINVAL: no such job, run or node, or the node is this one.
 */
int peer_send(struct peer *peer, const struct peer_msg *msg);

/* Called for every message of that type; one receiver per type, NULL: none any more. */
typedef void (*peer_receive_fn)(const struct peer_msg *msg, void *arg);
void peer_receive(struct peer *peer, enum peer_type type, peer_receive_fn fn, void *arg);

/*
 * peer_job_add() - a job whose messages this node takes and sends
 * @names: of its nodes, by number in the rank map; this one's must be among them
 *
 * What other runs of the job say is dropped, unless they were added, too.  A name
 * may stand for several numbers only if it is not this node's.
 * -ENOENT: a name is not in the hosts file (which: @ret_bad, may be NULL).  -EINVAL: this node
 * is not among them, or twice.  -EEXIST, -E2BIG, -ENOMEM.
 */
int peer_job_add(struct peer *peer, int64_t job, uint64_t run, const char *const *names,
		 unsigned int nr, unsigned int *ret_bad);
void peer_job_remove(struct peer *peer, int64_t job, uint64_t run);	/* unknown is fine */

/*
 * A PEER_COORD message, checked: a kind and a number of entries that exist, and exactly
 * as many bytes as that takes; the rest of @ret_msg is zero.  -EPROTO.
 * The number of the sender in it is compared as well.
 */
int peer_coord_read(const struct peer_msg *msg, struct coord_msg *ret_msg);

/* ------------------------------------------------------------------ nodes */

#define PEER_STATES(X) \
	X(SELF, "this node") \
	X(IDLE, "not asked yet") \
	X(CONNECTING, "connecting") \
	X(UP, "answers") \
	X(DOWN, "does not answer") \
	X(REFUSED, "key refused") \
	X(OTHER_VERSION, "other version")
enum peer_state {
#define X(name, text) PEER_##name,
	PEER_STATES(X)
#undef X
};

struct peer_node {
	const char *name;
	const char *address;
	const char *domain;	/* what fails with it; NULL: nothing that is known of */
	unsigned int port;
	enum peer_state state;
	time_t since;		/* of the state; 0: from the start */
	time_t heard;		/* last message; 0: none */
	uint32_t version;	/* of the protocol, where it is another one */
};
const char *peer_state_text(enum peer_state state);
unsigned int peer_nr_nodes(const struct peer *peer);
unsigned int peer_self(const struct peer *peer);
int peer_find(const struct peer *peer, const char *name);	/* index or -ENOENT */
void peer_node(const struct peer *peer, unsigned int node, struct peer_node *ret_node);

void peer_close(struct peer *peer);	/* NULL is fine */

#endif /* STILLPOINT_PEER_H */
