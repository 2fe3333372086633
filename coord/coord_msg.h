/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages between the coordinators of one job's nodes: plain structs.
 *
 *   down the tree   VIEW (who is dead, and: answer), ORDER, TARGETS
 *   up the tree     REPORT (of a whole subtree), TARGETS
 *   node to node    CHANNELS (how many messages were sent to your ranks), HELLO,
 *                   DEAD, ASK, TELL
 *   as an answer    TARGETS_ACK, CHANNELS_ACK: for the same entries
 *
 * Any message may be lost, doubled, late or overtaken; a sender that waits for an answer
 * repeats its message.  A message counts only in the epoch that it names.  An epoch is the
 * term of one root, (number << 12 | root); every node persists it before it answers in it.
 * coord_msg_size() says how much of the struct a message needs.
 */
#ifndef STILLPOINT_COORD_MSG_H
#define STILLPOINT_COORD_MSG_H

#include <stddef.h>
#include <stdint.h>

#define COORD_NODES_MAX 4096	/* 12 bits of an epoch */
#define COORD_BATCH 16		/* entries of a message */
#define COORD_NONE UINT32_MAX	/* no node, no rank */

/* One try at a generation; @attempt grows with every checkpoint and restart. */
struct coord_id {
	uint64_t generation;
	uint64_t attempt;
};

/* Set of nodes. */
struct coord_nodes {
	uint64_t bits[COORD_NODES_MAX / 64];
};

enum coord_order {
	COORD_ORDER_NONE,
	COORD_ORDER_ANSWER,		/* what is on your disk? */
	/* checkpoint */
	COORD_ORDER_QUIESCE,		/* say how far your collectives are */
	COORD_ORDER_CATCH_UP,		/* go on to the targets, and stop there */
	COORD_ORDER_DRAIN,		/* start no send; take what is under way */
	COORD_ORDER_FREEZE,		/* freeze; let others see what was written to files */
	COORD_ORDER_SNAPSHOT,		/* all are frozen: take memory and files as they are */
	COORD_ORDER_THAW,		/* run on; dump; make it durable */
	COORD_ORDER_COMMIT,
	/* restart */
	COORD_ORDER_PLACE,		/* nothing of the job may run; here are your ranks */
	COORD_ORDER_FETCH,		/* their images to this node */
	COORD_ORDER_CREATE,		/* processes, filled, not running */
	COORD_ORDER_CONNECT,		/* new lower halves, connected */
	COORD_ORDER_GO,
	COORD_ORDER_LIVE,		/* all went: the restart stands */
	COORD_ORDER_ABORT,		/* of either */
	COORD_ORDERS
};

/* How far a node has come; the job's level is the lowest of all its nodes. */
enum coord_level {
	COORD_IDLE,
	COORD_ANSWERED,
	COORD_QUIESCED,
	COORD_CAUGHT_UP,
	COORD_DRAINED,
	COORD_FROZEN,
	COORD_SNAPSHOTTED,
	COORD_THAWED,
	COORD_DUMPED,
	COORD_DURABLE,
	COORD_COMMITTED,
	COORD_PLACED,
	COORD_FETCHED,
	COORD_CREATED,
	COORD_CONNECTED,
	COORD_RUNNING,
	COORD_LIVE,
	COORD_ABORTED,
	COORD_LEVELS
};

/* X-macro: enum, text for people; append only. */
#define COORD_REASONS(X) \
	X(NONE, "nothing is wrong") \
	X(ASKED, "it was asked for") \
	X(TIMEOUT, "not done in time") \
	X(FAILED, "a step failed") \
	X(REFUSED, "a rank cannot be checkpointed now") \
	X(PAUSE, "the maximum pause passed") \
	X(LOST, "a node daemon was started anew and lost its part") \
	X(NODE_DEAD, "a node is dead") \
	X(DISK, "a record could not be persisted") \
	X(COUNTERS, "more messages were received than were sent") \
	X(TABLE, "more communicators or channels than there is room for") \
	X(EXITED, "a rank ended") \
	X(BUSY_CHECKPOINT, "a checkpoint is under way") \
	X(BUSY_RESTART, "a restart is under way") \
	X(BUSY_ABORT, "an abort is not yet finished on every node") \
	X(RECOVERING, "the coordinator waits for the records of all nodes") \
	X(NOT_ROOT, "another node coordinates") \
	X(NOT_RUNNING, "the job does not run") \
	X(RUNNING, "the job runs") \
	X(DECIDED, "the outcome is decided and can no longer be aborted") \
	X(NOTHING, "there is nothing to abort") \
	X(EXPELLED, "this node was declared dead") \
	X(NO_ANSWER, "a node does not answer") \
	X(ROOT_LOST, "the coordinator went away before it was decided")

enum coord_reason {
#define X(name, text) COORD_WHY_##name,
	COORD_REASONS(X)
#undef X
	COORD_WHYS
};

/* The rank that is waited for: the lowest one that has not done its part. */
struct coord_wait {
	uint32_t node;		/* COORD_NONE: nobody */
	uint32_t rank;		/* COORD_NONE: the node itself */
	uint32_t peer;		/* COORD_NONE: any, or none */
	uint16_t call;		/* row of mpi_calls.def */
	uint16_t reason;	/* enum coord_reason */
	uint64_t comm;
	uint64_t seq;		/* of the communicator's collectives */
};

/* State of a subtree: the parts of one node are all of the same instant. */
struct coord_report {
	uint8_t level;		/* the lowest of the nodes */
	uint8_t order;		/* the earliest order that one of them follows */
	uint16_t reason;	/* enum coord_reason; NONE: nothing failed */
	int32_t error;
	uint32_t nodes;		/* how many have done what the order asks for */
	uint32_t depth;
	struct coord_wait wait;
	uint64_t sum_min, sum_max;	/* of the sums over the nodes' tables of targets */
	uint64_t announced, received;	/* channels: announced by senders, known to receivers */
	struct coord_id committed;	/* latest of any node */
	struct coord_id committed_min;	/* earliest */
	struct coord_id prepared;	/* latest */
	struct coord_id run_min, run_max;
	struct coord_id live_min, live;	/* earliest, latest */
	uint64_t generation;		/* highest ever heard of */
};

struct coord_view {
	uint8_t answer;		/* 1: ANSWER is the order; 0: for information */
	struct coord_nodes dead;
};

struct coord_target {
	uint64_t comm;		/* identity agreed when it was made */
	uint64_t seq;		/* collectives begun on it */
};

/* How many messages @source has sent to @dest since the job began, or @dest received. */
struct coord_channel {
	uint32_t source;
	uint32_t dest;
	uint64_t count;
};

struct coord_order_body {
	uint8_t order;
	uint8_t direct;		/* to this node alone: do not pass it on */
	uint16_t reason;	/* why, if the order is ABORT */
	uint32_t limit_ms;	/* a node that hears nothing for twice as long gives up; 0: never */
};

struct coord_records {		/* HELLO, ASK, TELL */
	struct coord_id committed;
	struct coord_id prepared;
	uint8_t known[2];	/* TELL: of committed, prepared: enum coord_known */
};

enum coord_known {
	COORD_UNKNOWN,
	COORD_WAS_COMMITTED,
	COORD_WAS_ABORTED,
};

enum coord_msg_kind {
	COORD_MSG_VIEW = 1,
	COORD_MSG_ORDER,
	COORD_MSG_REPORT,
	COORD_MSG_TARGETS,
	COORD_MSG_TARGETS_ACK,
	COORD_MSG_CHANNELS,
	COORD_MSG_CHANNELS_ACK,
	COORD_MSG_HELLO,	/* to the root: the sender's daemon has just started */
	COORD_MSG_DEAD,		/* to the root: a node is declared dead */
	COORD_MSG_ASK,		/* from a node declared dead: were my records committed? */
	COORD_MSG_TELL,		/* the answer to ASK */
	COORD_MSGS
};

struct coord_msg {
	uint16_t kind;
	uint16_t count;		/* of entries */
	uint32_t from;
	uint64_t epoch;
	uint64_t incarnation;	/* of the sender's daemon */
	uint64_t serial;	/* REPORT: its number; CHANNELS: index of its first entry */
	struct coord_id id;
	union {
		struct coord_view view;
		struct coord_order_body order;
		struct coord_report report;
		struct coord_target targets[COORD_BATCH];
		struct coord_channel channels[COORD_BATCH];
		struct coord_records records;
		uint32_t dead;
	};
};

/* Bytes of @msg that carry meaning; the rest need not be sent. */
size_t coord_msg_size(const struct coord_msg *msg);
const char *coord_msg_name(unsigned int kind);

#endif /* STILLPOINT_COORD_MSG_H */
