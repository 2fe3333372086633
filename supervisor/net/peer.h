/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other node daemons, as code that works on a job sees them: messages to and from a node of
 * the job, by its number in the rank map.
 *
 * A message arrives whole, once, or not at all; of two, either may arrive first. Callers
 * that need more must repeat and number messages. An unreachable node is not a dead one.
 * The sender's identity has been checked by its key, and so has its number in the job.
 *
 * Nodes have a second number, their index in the hosts file: messages between daemons (job
 * 0) use that. It is local to this node and never sent.
 */
#ifndef STILLPOINT_PEER_H
#define STILLPOINT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "coord/coord_msg.h"

#define PEER_VERSION	4	/* version of the protocol between ckptds, and of coord_msg.h */
#define PEER_DATA_MAX	(64u << 20)
#define PEER_JOBS_MAX	4096

enum peer_type {
	/* messages of a job */
	PEER_FENCE_UP = 1,	/* number: of the fence; data: blocks of a subtree */
	PEER_FENCE_DOWN = 2,	/* the same; data: all blocks */
	PEER_JOB_ABORT = 3,	/* number: exit status; data: text */
	PEER_COORD = 4,		/* data: struct coord_msg, coord_msg_size() bytes of it */
	/* messages between daemons: job 0 */
	PEER_PROBE = 16,	/* number: returned by the answer */
	PEER_PROBE_BACK = 17,	/* data: Health of peer.proto */
	PEER_ASK = 18,		/* these two belong to peer_ask.h */
	PEER_ANSWER = 19,
	PEER_TYPES = 32
};

struct peer_msg {
	int64_t job;		/* 0: a message between daemons */
	uint64_t run;		/* run of the job; a restart has a greater one */
	/* receiver or sender, by the rank map; for job 0, by the hosts file */
	unsigned int node;
	enum peer_type type;
	uint64_t number;
	const void *data;	/* valid during the call */
	size_t len;
};

struct peer;
/*
 * peer_send() - send a message; never waits
 *
 * 0: accepted (and may still be lost). Else not accepted:
 * -EHOSTUNREACH: the node does not answer, or one of the two nodes refuses the other's key.
 * -EAGAIN: too much is queued for that node; try later.
 * -EMSGSIZE; -ENOMEM.
 * -EINVAL: no such job, run or node, or the node is this one.
 */
int peer_send(struct peer *peer, const struct peer_msg *msg);

/* Set the receiver of all messages of that type, one per type; NULL: remove it. */
typedef void (*peer_receive_fn)(const struct peer_msg *msg, void *arg);
void peer_receive(struct peer *peer, enum peer_type type, peer_receive_fn fn, void *arg);

/*
 * peer_job_add() - let this node exchange messages of a job
 * @names: names of its nodes, by number in the rank map; this node must be among them
 *
 * Messages of other runs of the job are dropped, unless these were added, too. A name may
 * stand for several numbers only if it is not this node's.
 * -ENOENT: a name is not in the hosts file (which one: @ret_bad, may be NULL). -EINVAL:
 * this node is not among them, or twice. -EEXIST, -E2BIG, -ENOMEM.
 */
int peer_job_add(struct peer *peer, int64_t job, uint64_t run, const char *const *names,
		 unsigned int nr, unsigned int *ret_bad);
void peer_job_remove(struct peer *peer, int64_t job, uint64_t run);	/* unknown is fine */

/*
 * Read and check a PEER_COORD message: kind and number of entries must exist, the length
 * must be exactly what they take, and the sender's number must be the message's. The rest
 * of @ret_msg is zero. -EPROTO.
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
	const char *domain;	/* failure domain of the node; NULL: none is known */
	bool root;		/* root=yes of the hosts file */
	unsigned int port;
	enum peer_state state;
	time_t since;		/* time of the last state change; 0: none since the start */
	time_t heard;		/* last message; 0: none */
	uint32_t version;	/* the node's version of the protocol, if it is not ours */
};
const char *peer_state_text(enum peer_state state);
unsigned int peer_nr_nodes(const struct peer *peer);
unsigned int peer_self(const struct peer *peer);
int peer_find(const struct peer *peer, const char *name);	/* index or -ENOENT */
void peer_node(const struct peer *peer, unsigned int node, struct peer_node *ret_node);

void peer_close(struct peer *peer);	/* NULL is fine */

#endif /* STILLPOINT_PEER_H */
