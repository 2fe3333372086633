/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coordinator of a job-wide checkpoint or restart: one per job and node, sans-IO.
 *
 *	step(state, event) -> actions
 *
 * No clock (events carry it), no socket, no disk, no allocation after coord_create().
 * Every node daemon of the job has one, all of the same kind: the living node with
 * the lowest number is the *root* (it takes requests and decides), the others form a
 * k-ary tree below it, pass orders down and one report per subtree up, and each
 * is the *leaf* that drives its own ranks.
 *
 * Whoever owns a coordinator performs the actions of each step in their order (PERSIST may
 * come first) and feeds back what came of them.  A local action (COORD_ACT_QUIESCE ... COORD_ACT_PERSIST)
 * has a cookie; it ends with COORD_EV_DONE with that cookie.  A coordinator has at most
 * one of them and one PERSIST under way, except that ABORT overrides: the outcome
 * of what it interrupts is no longer waited for.
 *
 * Death is a fact that somebody states (admin, scheduler, fencing): COORD_EV_DEAD.  No
 * timeout makes a node dead.  Who returns after having been declared dead
 * is told so at creation (@expelled), and takes the survivors' decision.
 */
#ifndef STILLPOINT_COORD_H
#define STILLPOINT_COORD_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/coord_msg.h"
#include "coord/coord_table.h"

#define COORD_MS 1000000ull	/* times are nanoseconds of CLOCK_MONOTONIC */

struct coord;

/* What a node keeps on disk; replaced as a whole (write, fsync, rename, fsync). */
struct coord_record {
	uint64_t epoch;
	struct coord_nodes dead;
	struct coord_id committed;	/* our part of it is an image */
	struct coord_id previous;	/* committed before that */
	struct coord_id prepared;	/* our part is durable; not decided */
	struct coord_id live;		/* restart of which all ranks ran */
};

struct coord_limits {			/* milliseconds */
	uint32_t retry;			/* first repetition */
	uint32_t retry_max;
	uint32_t quiesce;		/* QUIESCE to drained */
	uint32_t pause;			/* FREEZE to captured: the module's maximum, and what is around it */
	uint32_t dump;
	uint32_t restart;		/* each phase of one */
};

struct coord_config {
	uint32_t self;
	uint32_t nr_nodes;
	uint32_t arity;			/* of the tree; at most COORD_ARITY_MAX */
	uint64_t incarnation;		/* grows with every start of this daemon */
	bool expelled;			/* it was declared dead before this start */
	struct coord_id run;		/* the job's ranks here live since; zero: none do */
	uint64_t generation;		/* no checkpoint is numbered up to it */
	struct coord_limits limits;
	uint32_t max_comms;		/* that span several nodes */
	uint32_t max_channels;		/* to or from ranks of this node */
	uint32_t nr_ranks;
	const uint32_t *node_of;	/* [nr_ranks] */
	const struct coord_table *table;	/* &coord_table */
};

#define COORD_ARITY_MAX 16

enum coord_request {
	COORD_CHECKPOINT,
	COORD_RESTART,
	COORD_ABORT,
	COORD_STATUS,
};

enum coord_event_kind {
	COORD_EV_START,		/* first event of all */
	COORD_EV_TIME,		/* the time of COORD_ACT_WAKE has come, or not */
	COORD_EV_MSG,		/* msg */
	COORD_EV_DONE,		/* cookie, error; reason and wait if error */
	COORD_EV_REQUEST,	/* request, ticket, generation (of a restart) */
	COORD_EV_DEAD,		/* node is declared dead */
	COORD_EV_SEQ,		/* target: a rank here begins its seq-th collective */
	COORD_EV_CAUGHT_UP,	/* sum: no rank here is behind the targets of coord_sum() */
	COORD_EV_SENT,		/* channel: of a rank here, while draining; by node of dest */
	COORD_EV_CLOSED,	/* all SENT were told, no rank here starts a send */
	COORD_EV_RECEIVED,	/* channel: a rank here has received (or drained) */
	COORD_EV_WAIT,		/* wait: who has not done its part, for messages */
	COORD_EV_FAILED,	/* reason, error, wait: a rank ended, or refuses */
};

struct coord_event {
	enum coord_event_kind kind;
	uint64_t now;
	uint32_t cookie;
	int32_t error;
	enum coord_reason reason;
	enum coord_request request;
	uint64_t ticket;
	uint64_t generation;
	uint32_t quiesce_ms;		/* of a checkpoint; 0: as configured */
	uint64_t sum;
	uint32_t node;
	const struct coord_msg *msg;
	struct coord_target target;
	struct coord_channel channel;
	struct coord_wait wait;
};

enum coord_action_kind {
	COORD_ACT_NONE,
	/* local, with a cookie; end with COORD_EV_DONE */
	COORD_ACT_QUIESCE,	/* raise the intent; tell SEQ of every communicator */
	COORD_ACT_CATCH_UP,	/* done at once; then CAUGHT_UP whenever it is so */
	COORD_ACT_DRAIN,	/* done at once; then SENT..., CLOSED, RECEIVED... */
	COORD_ACT_FREEZE,
	COORD_ACT_SNAPSHOT,
	COORD_ACT_THAW,		/* and lower the intent */
	COORD_ACT_DUMP,		/* to L1, with fsync; and what the job writes, too */
	COORD_ACT_PLACE,	/* fails with -EBUSY while ranks of the job live here */
	COORD_ACT_FETCH,
	COORD_ACT_CREATE,
	COORD_ACT_CONNECT,
	COORD_ACT_GO,
	COORD_ACT_ABORT,	/* thaw, lower the intent, drop snapshot and partial image */
	COORD_ACT_KILL,		/* what a restart made here; images stay */
	COORD_ACT_PERSIST,	/* record */
	/* others */
	COORD_ACT_SEND,		/* msg to node; may be lost */
	COORD_ACT_WAKE,		/* COORD_EV_TIME at; replaces the one before */
	COORD_ACT_TARGET,	/* a target was raised: ranks behind it must go on; CAUGHT_UP anew */
	COORD_ACT_OUTCOME,	/* id: level COMMITTED, LIVE or ABORTED, and why */
	COORD_ACT_REPLY,	/* to ticket: error, reason, wait, id, level */
};

struct coord_action {
	enum coord_action_kind kind;
	uint32_t cookie;
	uint32_t node;
	int32_t error;
	enum coord_reason reason;
	enum coord_level level;
	uint64_t ticket;
	uint64_t at;
	struct coord_id id;
	struct coord_wait wait;
	union {
		struct coord_target target;
		struct coord_msg msg;
		struct coord_record record;
	};
};

/* Bytes that a coordinator of @config needs, aligned as malloc() does. */
size_t coord_size(const struct coord_config *config);
/*
 * coord_create() - in the memory handed over
 * @record: what this node's disk has; all zero at a job's first start
 *
 * @config->node_of and ->table must outlive it.  -EINVAL for a config that cannot be.
 */
int coord_create(void *memory, const struct coord_config *config,
		 const struct coord_record *record, struct coord **ret_coord);
/* Actions are valid until the next step. */
size_t coord_step(struct coord *coord, const struct coord_event *event,
		  const struct coord_action **ret_actions);

/* For status pages and tests. */
uint32_t coord_root(const struct coord *coord);
bool coord_is_idle(const struct coord *coord);	/* nothing to do, nothing in doubt */
enum coord_level coord_level(const struct coord *coord);
enum coord_order coord_order(const struct coord *coord);
/* At the root: that all nodes have, as far as it has heard. */
enum coord_level coord_all_level(const struct coord *coord);
struct coord_id coord_id(const struct coord *coord);
const struct coord_record *coord_record(const struct coord *coord);
uint64_t coord_sum(const struct coord *coord);
uint64_t coord_target(const struct coord *coord, uint64_t comm);
uint32_t coord_depth(const struct coord *coord);	/* of the whole tree, at the root */

/* coord_text.c */
const char *coord_reason_text(enum coord_reason reason);
/* "not done in time: rank 7 on node 3 in call 41 ..."; @node and @call, names, may be NULL */
int coord_describe(char *buf, size_t size, enum coord_reason reason,
		   const struct coord_wait *wait, const char *node, const char *call);

/* coord_restart.c */
/*
 * coord_place() - evenly, keeping neighbours together
 * @slots: of each node; 0: none of the ranks.  NULL: as many as needed
 * @ret_node_of: [nr_ranks]
 *
 * -ENOSPC if the slots do not suffice, -EINVAL without a node.
 */
int coord_place(uint32_t nr_ranks, uint32_t nr_nodes, const uint32_t *slots,
		uint32_t *ret_node_of);

#endif /* STILLPOINT_COORD_H */
