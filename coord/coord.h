/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coordinator of a job-wide checkpoint or restart: one per job and node, sans-IO.
 *
 *	step(state, event) -> actions
 *
 * It has no clock (events carry the time), no socket and no disk, and allocates nothing after
 * coord_create().  Every node daemon of the job has a coordinator, and all run the same code.
 * The living node with the lowest number is the *root*: it takes requests and decides.  The
 * other nodes form a k-ary tree below it, pass orders down and one report per subtree up.
 * Every node, the root too, is a *leaf* that drives its own ranks.
 *
 * The owner of a coordinator performs the actions of each step in their order (PERSIST may
 * come first) and feeds back their results as events.  A local action (COORD_ACT_QUIESCE ...
 * COORD_ACT_PERSIST) has a cookie and ends with a COORD_EV_DONE of that cookie.  At most one
 * local action and one PERSIST are under way.  The exception is ABORT: it overrides the action
 * under way, whose result is then ignored.
 *
 * Death is a fact that somebody states (admin, scheduler, fencing): COORD_EV_DEAD.  No
 * timeout makes a node dead.  A node that returns after it was declared dead is told so at
 * creation (@expelled), and accepts the survivors' decision.
 */
#ifndef STILLPOINT_COORD_H
#define STILLPOINT_COORD_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/coord_msg.h"
#include "coord/coord_table.h"

#define COORD_MS 1000000ull	/* times are nanoseconds of CLOCK_MONOTONIC */

struct coord;

/* The record that a node keeps on disk; replaced as a whole (write, fsync, rename, fsync). */
struct coord_record {
	uint64_t epoch;
	struct coord_nodes dead;
	struct coord_id committed;	/* latest committed checkpoint: our part is an image */
	struct coord_id previous;	/* the checkpoint committed before that */
	struct coord_id prepared;	/* our part is durable, the commit is not decided */
	struct coord_id live;		/* latest restart of which all ranks ran */
};

struct coord_limits {			/* milliseconds */
	uint32_t retry;			/* until a message is first repeated; then it doubles */
	uint32_t retry_max;		/* longest time between two repetitions */
	uint32_t quiesce;		/* from QUIESCE until drained */
	uint32_t pause;			/* FREEZE to captured: the module's maximum and a margin */
	uint32_t dump;			/* from THAW until durable */
	uint32_t restart;		/* of each phase of a restart */
};

struct coord_config {
	uint32_t self;
	uint32_t nr_nodes;
	uint32_t arity;			/* of the tree; at most COORD_ARITY_MAX */
	uint64_t incarnation;		/* grows with every start of this daemon */
	bool expelled;			/* this node was declared dead before this start */
	struct coord_id run;		/* operation since which ranks live here; zero: none live */
	uint64_t generation;		/* new checkpoints get higher numbers than this */
	struct coord_limits limits;
	uint32_t max_comms;		/* most communicators that span several nodes */
	uint32_t max_channels;		/* most channels to or from ranks of this node */
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
	COORD_EV_TIME,		/* the time of COORD_ACT_WAKE has come; an early one does no harm */
	COORD_EV_MSG,		/* msg */
	COORD_EV_DONE,		/* cookie, error; reason and wait if error */
	COORD_EV_REQUEST,	/* request, ticket, generation (of a restart) */
	COORD_EV_DEAD,		/* node is declared dead */
	COORD_EV_SEQ,		/* target: a rank here begins its seq-th collective */
	COORD_EV_CAUGHT_UP,	/* sum: no rank here is behind the targets of coord_sum() */
	COORD_EV_SENT,		/* channel of a rank here, while draining; sorted by node of dest */
	COORD_EV_CLOSED,	/* all SENT were given, and no rank here starts a send */
	COORD_EV_RECEIVED,	/* channel: messages that a rank here has received (or drained) */
	COORD_EV_WAIT,		/* wait: the rank that has not done its part, for texts */
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
	COORD_ACT_CATCH_UP,	/* no DONE; CAUGHT_UP whenever no rank here is behind */
	COORD_ACT_DRAIN,	/* no DONE; SENT..., CLOSED, RECEIVED... */
	COORD_ACT_FREEZE,
	COORD_ACT_SNAPSHOT,
	COORD_ACT_THAW,		/* and lower the intent */
	COORD_ACT_DUMP,		/* to L1, with fsync; also of the files that the job writes */
	COORD_ACT_PLACE,	/* fails with -EBUSY while ranks of the job live here */
	COORD_ACT_FETCH,
	COORD_ACT_CREATE,
	COORD_ACT_CONNECT,
	COORD_ACT_GO,
	COORD_ACT_ABORT,	/* thaw, lower the intent, drop snapshot and partial image */
	COORD_ACT_KILL,		/* kill the processes that a restart made here; images stay */
	COORD_ACT_PERSIST,	/* write the record to disk */
	/* others */
	COORD_ACT_SEND,		/* msg to node; may be lost */
	COORD_ACT_WAKE,		/* give COORD_EV_TIME at that time; replaces an earlier WAKE */
	COORD_ACT_TARGET,	/* target was raised: ranks behind it go on, then CAUGHT_UP again */
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

/* Bytes of memory that a coordinator of @config needs, aligned as malloc() aligns. */
size_t coord_size(const struct coord_config *config);
/*
 * coord_create() - make a coordinator in @memory, which has coord_size() bytes
 * @record: the record on this node's disk; all zero at a job's first start
 *
 * @memory, @config->node_of and @config->table must outlive the coordinator.
 *
 * Return: 0; -EINVAL for an impossible config
 */
int coord_create(void *memory, const struct coord_config *config,
		 const struct coord_record *record, struct coord **ret_coord);
/* Handle one event. Returns the number of actions; they are valid until the next step. */
size_t coord_step(struct coord *coord, const struct coord_event *event,
		  const struct coord_action **ret_actions);

/* For status pages and tests. */
uint32_t coord_root(const struct coord *coord);
bool coord_is_idle(const struct coord *coord);	/* nothing to do, nothing in doubt */
enum coord_level coord_level(const struct coord *coord);
enum coord_order coord_order(const struct coord *coord);
/* At the root: the level that all nodes have reached, as far as the root has heard. */
enum coord_level coord_all_level(const struct coord *coord);
struct coord_id coord_id(const struct coord *coord);
const struct coord_record *coord_record(const struct coord *coord);
uint64_t coord_sum(const struct coord *coord);
uint64_t coord_target(const struct coord *coord, uint64_t comm);
uint32_t coord_depth(const struct coord *coord);	/* depth of the whole tree */

/* coord_text.c */
const char *coord_reason_text(enum coord_reason reason);
/* "not done in time: rank 7 on node 3 is in …"; @node and @call are names and may be NULL */
int coord_describe(char *buf, size_t size, enum coord_reason reason,
		   const struct coord_wait *wait, const char *node, const char *call);

/* coord_restart.c */
/*
 * coord_place() - place ranks on nodes, evenly, keeping neighbouring ranks together
 * @slots: most ranks of each node; 0: no ranks there.  NULL: no limit on any node
 * @ret_node_of: [nr_ranks], the node of each rank
 *
 * Return: 0; -ENOSPC if there are too few slots; -EINVAL without a rank or a usable node
 */
int coord_place(uint32_t nr_ranks, uint32_t nr_nodes, const uint32_t *slots,
		uint32_t *ret_node_of);

#endif /* STILLPOINT_COORD_H */
