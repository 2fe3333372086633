/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside of the coordinator; not for its users.
 *
 *	coord.c			creation, dispatch of events, timers, actions
 *	coord_node.c		the leaf: orders to local actions, records, giving up
 *	coord_tree.c		parent and children; reports summed; orders passed on
 *	coord_root.c		requests, order after order, the decision
 *	coord_view.c		deaths, the term of a root, nodes that return
 *	coord_targets.c		maxima of the collectives' sequence numbers
 *	coord_channels.c	messages sent to and received by the ranks here
 *	coord_restart.c		placing ranks; a restart whose root died
 */
#ifndef STILLPOINT_COORD_PRIV_H
#define STILLPOINT_COORD_PRIV_H

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "coord/coord.h"

#define COORD_UP (1u << 31)	/* bit of the parent in a set of neighbours; children: bits 0... */
#define COORD_RESERVED 40	/* room of a step for actions other than messages */

struct coord_child {
	uint32_t node;
	bool heard;		/* @report belongs to this operation and epoch */
	uint64_t incarnation;
	uint64_t serial;
	struct coord_report report;
};

struct target_entry {
	uint64_t comm;
	uint64_t seq;
	uint32_t pending;	/* set of neighbours not known to have this entry */
	uint32_t fresh;		/* those of @pending to whom it was not sent yet */
	bool used;
};

struct channel_in {
	uint32_t source;
	uint32_t dest;
	uint64_t announced;
	uint64_t received;
	bool used;
	bool known;		/* announced is valid */
};

struct coord_term {		/* the root's own: the operation that was requested */
	bool active;		/* a checkpoint or restart is under way */
	bool restart;		/* it is a restart */
	bool told;		/* its outcome was told */
	uint64_t ticket;
	struct coord_id id;
	uint32_t quiesce_ms;	/* limit that the request named; 0: as configured */
	uint64_t deadline;
	enum coord_reason reason;
	int32_t error;
	struct coord_wait wait;
};

struct coord {
	struct coord_config config;
	uint64_t now;

	/* the record: as it should be, as it is on disk, as it is being written */
	struct coord_record want, disk, in_flight;
	bool persisting;
	uint32_t cookies;	/* number of cookies given out */
	uint32_t persist_cookie;
	uint64_t persist_at;	/* after a failure: do not write again before this */

	/* view: want.epoch, want.dead */
	struct coord_nodes reported;	/* nodes that this node was told are dead */
	bool expelled;			/* this node was declared dead */
	bool greeted;			/* the root answered since the start, or is this node */
	uint64_t epoch_seen;		/* latest epoch ever heard of */
	uint32_t ask_next;		/* expelled: node that was asked last */
	bool resolved[2];		/* expelled: told what became of committed, prepared */
	uint32_t living;		/* number of living nodes */
	uint32_t parent;		/* COORD_NONE: this is the root */
	unsigned int nr_children;
	struct coord_child children[COORD_ARITY_MAX];

	/* this node's part */
	uint8_t order;
	uint8_t level;
	uint8_t begun;			/* level that the work under way leads to */
	bool aborting;
	bool restart;			/* @id is a restart */
	uint8_t doing;			/* local action under way */
	uint32_t cookie;		/* of that action */
	struct coord_id id;		/* operation that the order belongs to */
	struct coord_id over;		/* operation that this node has given up */
	struct coord_id run;		/* operation since which ranks live here; zero: none live */
	uint64_t generation;		/* highest ever heard of */
	uint32_t limit_ms;		/* of the order */
	enum coord_reason reason;	/* why this node gave up; NONE: it did not */
	enum coord_reason abort_reason;	/* why the root aborts, to be passed on */
	int32_t error;
	struct coord_wait fault;	/* the rank that failed */
	struct coord_wait wait;		/* the rank that is waited for */
	uint64_t guard_at;		/* give up then; 0: never */
	uint64_t retry_at;		/* repeat messages then; 0: nothing to repeat */
	uint32_t retry_ms;
	uint64_t serial;
	struct coord_report sent;	/* the last report to the parent */

	struct coord_term term;
	uint32_t operations;		/* number of those begun in this epoch */

	struct target_entry *targets;
	uint32_t nr_targets;
	uint64_t sum;

	struct coord_channel *out;
	uint32_t *out_state;		/* 1: acknowledged */
	uint32_t nr_out;
	uint32_t out_next;		/* entries from here on were not sent yet */
	struct channel_in *in;
	uint32_t nr_in;			/* number of channels announced */
	uint32_t nr_open;		/* those of which not all messages were received */
	bool closed;			/* no rank here starts a send any more */

	struct coord_action *actions;
	size_t nr_actions, max_actions;
	uint64_t wake_at;
};

/* ------------------------------------------------------------------ small */

static inline bool id_equal(struct coord_id a, struct coord_id b)
{
	return a.generation == b.generation && a.attempt == b.attempt;
}

static inline bool id_is(struct coord_id id)
{
	return id.attempt != 0;
}

static inline bool nodes_has(const struct coord_nodes *nodes, uint32_t node)
{
	return nodes->bits[node / 64] >> (node % 64) & 1;
}

static inline void nodes_add(struct coord_nodes *nodes, uint32_t node)
{
	nodes->bits[node / 64] |= 1ull << (node % 64);
}

static inline bool coord_is_root(const struct coord *c)
{
	return !c->expelled && c->parent == COORD_NONE;
}

/* coord.c; coord_send(): NULL if there is no room, the message is repeated later */
struct coord_action *coord_act(struct coord *c, enum coord_action_kind kind);
void coord_act_local(struct coord *c, enum coord_action_kind kind);
struct coord_msg *coord_send(struct coord *c, uint32_t node, enum coord_msg_kind kind);
void coord_retry_soon(struct coord *c);
bool coord_has_room(const struct coord *c);

/* coord_node.c */
void coord_node_take(struct coord *c, enum coord_order order, struct coord_id id,
		     uint32_t limit_ms, enum coord_reason reason);
void coord_node_resolve(struct coord *c, enum coord_order order, struct coord_id id);
void coord_node_pump(struct coord *c);
void coord_node_caught_up(struct coord *c, uint64_t sum);
void coord_node_done(struct coord *c, const struct coord_event *event);
void coord_node_fail(struct coord *c, enum coord_reason reason, int32_t error,
		     const struct coord_wait *wait);
void coord_node_drop(struct coord *c);	/* at a new epoch: give up, unless in doubt */
void coord_node_report(const struct coord *c, struct coord_report *ret_report);
void coord_node_guard(struct coord *c);
void coord_persist(struct coord *c);
bool coord_is_persisted(const struct coord *c);
bool coord_node_has_ended(const struct coord *c);

/* coord_tree.c */
void coord_tree_build(struct coord *c);
void coord_tree_forget(struct coord *c);	/* forget the children's reports */
void coord_tree_sum(const struct coord *c, struct coord_report *ret_report);
void coord_tree_forward(struct coord *c, bool again);
void coord_tree_report(struct coord *c, bool always);
void coord_tree_on_report(struct coord *c, const struct coord_msg *msg);
bool coord_tree_waits(const struct coord *c);	/* for a child's report */
unsigned int coord_tree_bit(const struct coord *c, uint32_t node);	/* 0: not a neighbour */
bool coord_tree_reached(const struct coord *c, const struct coord_report *report);

/* coord_root.c */
void coord_root_request(struct coord *c, const struct coord_event *event);
void coord_root_advance(struct coord *c);
void coord_root_deadline(struct coord *c);
void coord_root_abort(struct coord *c, enum coord_reason reason, int32_t error,
		      const struct coord_wait *wait);
void coord_root_order(struct coord *c, enum coord_order order, struct coord_id id);
void coord_root_outcome(struct coord *c, struct coord_id id, enum coord_level level);

/* coord_view.c */
void coord_view_start(struct coord *c);
void coord_view_begin_term(struct coord *c);
void coord_view_on_dead(struct coord *c, uint32_t node);
void coord_view_on_view(struct coord *c, const struct coord_msg *msg);
void coord_view_on_hello(struct coord *c, const struct coord_msg *msg);
void coord_view_on_ask(struct coord *c, const struct coord_msg *msg);
void coord_view_on_tell(struct coord *c, const struct coord_msg *msg);
void coord_view_retry(struct coord *c);
bool coord_view_waits(const struct coord *c);

/* coord_targets.c */
void coord_targets_clear(struct coord *c);
void coord_targets_raise(struct coord *c, const struct coord_target *target, unsigned int from);
void coord_targets_on_msg(struct coord *c, const struct coord_msg *msg);
void coord_targets_flush(struct coord *c, bool again);
bool coord_targets_settled(const struct coord *c);

/* coord_channels.c */
void coord_channels_clear(struct coord *c);
void coord_channels_sent(struct coord *c, const struct coord_channel *channel);
void coord_channels_received(struct coord *c, const struct coord_channel *channel);
void coord_channels_on_msg(struct coord *c, const struct coord_msg *msg);
void coord_channels_flush(struct coord *c, bool again);
bool coord_channels_drained(const struct coord *c);

/* coord_restart.c */
/* The restart that must be killed, as nobody recorded that it stands; zero: none. */
struct coord_id coord_restart_torn(const struct coord_report *report);

#endif /* STILLPOINT_COORD_PRIV_H */
