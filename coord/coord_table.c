// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of the coordinator, and the names of orders, levels, actions and messages.
 *
 * Owns no state.  Only these rows say which level follows which, and which order
 * allows the step: code that branches on a level's number is wrong.  A change here
 * needs the same change in tests/model/coord.pml; a test compares the two.
 */
#include "coord/coord.h"

#include <stddef.h>

#include "base/cleanup.h"

const struct coord_table coord_table = {
	.steps = {
		{ COORD_IDLE, COORD_ORDER_QUIESCE, COORD_QUIESCED, COORD_ACT_QUIESCE },
		{ COORD_QUIESCED, COORD_ORDER_CATCH_UP, COORD_CAUGHT_UP, COORD_ACT_CATCH_UP },
		{ COORD_CAUGHT_UP, COORD_ORDER_DRAIN, COORD_DRAINED, COORD_ACT_DRAIN },
		{ COORD_DRAINED, COORD_ORDER_FREEZE, COORD_FROZEN, COORD_ACT_FREEZE },
		/* all nodes are frozen, so no file that they share changes, either */
		{ COORD_FROZEN, COORD_ORDER_SNAPSHOT, COORD_SNAPSHOTTED, COORD_ACT_SNAPSHOT },
		{ COORD_SNAPSHOTTED, COORD_ORDER_THAW, COORD_THAWED, COORD_ACT_THAW },
		{ COORD_THAWED, COORD_ORDER_THAW, COORD_DUMPED, COORD_ACT_DUMP },
		{ COORD_DUMPED, COORD_ORDER_THAW, COORD_DURABLE, COORD_ACT_PERSIST },
		{ COORD_DURABLE, COORD_ORDER_COMMIT, COORD_COMMITTED, COORD_ACT_PERSIST },
		{ COORD_IDLE, COORD_ORDER_PLACE, COORD_PLACED, COORD_ACT_PLACE },
		{ COORD_PLACED, COORD_ORDER_FETCH, COORD_FETCHED, COORD_ACT_FETCH },
		{ COORD_FETCHED, COORD_ORDER_CREATE, COORD_CREATED, COORD_ACT_CREATE },
		{ COORD_CREATED, COORD_ORDER_CONNECT, COORD_CONNECTED, COORD_ACT_CONNECT },
		{ COORD_CONNECTED, COORD_ORDER_GO, COORD_RUNNING, COORD_ACT_GO },
		{ COORD_RUNNING, COORD_ORDER_LIVE, COORD_LIVE, COORD_ACT_PERSIST },
	},
	.barriers = {
		/* coord_root.c decides from the answers which order follows ANSWER */
		{ COORD_ORDER_ANSWER, COORD_ANSWERED, COORD_ORDER_NONE, false },
		{ COORD_ORDER_QUIESCE, COORD_QUIESCED, COORD_ORDER_CATCH_UP, true },
		{ COORD_ORDER_CATCH_UP, COORD_CAUGHT_UP, COORD_ORDER_DRAIN, true },
		{ COORD_ORDER_DRAIN, COORD_DRAINED, COORD_ORDER_FREEZE, true },
		{ COORD_ORDER_FREEZE, COORD_FROZEN, COORD_ORDER_SNAPSHOT, true },
		{ COORD_ORDER_SNAPSHOT, COORD_SNAPSHOTTED, COORD_ORDER_THAW, true },
		{ COORD_ORDER_THAW, COORD_DURABLE, COORD_ORDER_COMMIT, true },
		{ COORD_ORDER_COMMIT, COORD_COMMITTED, COORD_ORDER_NONE, false },
		{ COORD_ORDER_PLACE, COORD_PLACED, COORD_ORDER_FETCH, true },
		{ COORD_ORDER_FETCH, COORD_FETCHED, COORD_ORDER_CREATE, true },
		{ COORD_ORDER_CREATE, COORD_CREATED, COORD_ORDER_CONNECT, true },
		{ COORD_ORDER_CONNECT, COORD_CONNECTED, COORD_ORDER_GO, true },
		/* ranks that already run, and wait for others that do not, can be killed */
		{ COORD_ORDER_GO, COORD_RUNNING, COORD_ORDER_LIVE, true },
		{ COORD_ORDER_LIVE, COORD_LIVE, COORD_ORDER_NONE, false },
		{ COORD_ORDER_ABORT, COORD_ABORTED, COORD_ORDER_NONE, false },
	},
	.persist_first = true,
	.guard_pause = true,
	.equal_sums = true,
	.any_commits = true,
};

static const char *const order_names[] = {
	"NONE", "ANSWER", "QUIESCE", "CATCH_UP", "DRAIN", "FREEZE", "SNAPSHOT", "THAW",
	"COMMIT", "PLACE", "FETCH", "CREATE", "CONNECT", "GO", "LIVE", "ABORT",
};

static const char *const level_names[] = {
	"IDLE", "ANSWERED", "QUIESCED", "CAUGHT_UP", "DRAINED", "FROZEN", "SNAPSHOTTED",
	"THAWED", "DUMPED", "DURABLE", "COMMITTED", "PLACED", "FETCHED", "CREATED",
	"CONNECTED", "RUNNING", "LIVE", "ABORTED",
};

static const char *const action_names[] = {
	"NONE", "QUIESCE", "CATCH_UP", "DRAIN", "FREEZE", "SNAPSHOT", "THAW", "DUMP",
	"PLACE", "FETCH", "CREATE", "CONNECT", "GO", "ABORT", "KILL", "PERSIST", "SEND",
	"WAKE", "TARGET", "OUTCOME", "REPLY",
};

static const char *const msg_names[] = {
	"?", "VIEW", "ORDER", "REPORT", "TARGETS", "TARGETS_ACK", "CHANNELS",
	"CHANNELS_ACK", "HELLO", "DEAD", "ASK", "TELL",
};

_Static_assert(ARRAY_SIZE(order_names) == COORD_ORDERS, "a name for every order");
_Static_assert(ARRAY_SIZE(level_names) == COORD_LEVELS, "a name for every level");
_Static_assert(ARRAY_SIZE(action_names) == COORD_ACT_REPLY + 1, "a name for every action");
_Static_assert(ARRAY_SIZE(msg_names) == COORD_MSGS, "a name for every message");

const struct coord_step *coord_step_from(const struct coord_table *table, unsigned int level,
					 unsigned int order)
{
	unsigned int i;

	for (i = 0; i < COORD_STEPS; i++) {
		const struct coord_step *step = &table->steps[i];

		if (step->from != level || step->order > order)
			continue;
		/* two steps begin at IDLE: take the one of the checkpoint, or of the restart */
		if (level == COORD_IDLE && (order >= COORD_ORDER_PLACE) !=
		    (step->order >= COORD_ORDER_PLACE))
			continue;
		return step;
	}
	return NULL;
}

const struct coord_barrier *coord_barrier(const struct coord_table *table, unsigned int order)
{
	unsigned int i;

	for (i = 0; i < COORD_BARRIERS; i++) {
		if (table->barriers[i].order == order)
			return &table->barriers[i];
	}
	return NULL;
}

unsigned int coord_level_before(const struct coord_table *table, unsigned int order)
{
	unsigned int i;

	for (i = 0; i < COORD_BARRIERS; i++) {
		if (table->barriers[i].next == order)
			return table->barriers[i].level;
	}
	return COORD_IDLE;
}

const char *coord_order_name(unsigned int order)
{
	return order < COORD_ORDERS ? order_names[order] : "?";
}

const char *coord_level_name(unsigned int level)
{
	return level < COORD_LEVELS ? level_names[level] : "?";
}

const char *coord_action_name(unsigned int action)
{
	return action <= COORD_ACT_REPLY ? action_names[action] : "?";
}

const char *coord_msg_name(unsigned int kind)
{
	return kind < COORD_MSGS ? msg_names[kind] : "?";
}

size_t coord_msg_size(const struct coord_msg *msg)
{
	size_t head = offsetof(struct coord_msg, view);

	switch (msg->kind) {
	case COORD_MSG_VIEW:
		return head + sizeof(msg->view);
	case COORD_MSG_ORDER:
		return head + sizeof(msg->order);
	case COORD_MSG_REPORT:
		return head + sizeof(msg->report);
	case COORD_MSG_TARGETS:
	case COORD_MSG_TARGETS_ACK:
		return head + msg->count * sizeof(msg->targets[0]);
	case COORD_MSG_CHANNELS:
		return head + msg->count * sizeof(msg->channels[0]);
	case COORD_MSG_HELLO:
	case COORD_MSG_ASK:
	case COORD_MSG_TELL:
		return head + sizeof(msg->records);
	case COORD_MSG_DEAD:
		return head + sizeof(msg->dead);
	default:	/* CHANNELS_ACK: serial and count say it all */
		return head;
	}
}
