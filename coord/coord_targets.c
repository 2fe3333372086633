// SPDX-License-Identifier: GPL-2.0-only
/*
 * Targets: per communicator, the highest number of a collective that any rank has begun.
 * Every member must reach its target before the job can stand still.
 *
 * The table of a node only grows while an operation lasts, and in the end all tables
 * are equal: an entry is sent to every neighbour in the tree until the neighbour
 * acknowledges it.  Entries go up at once, so that the root learns the maxima with the
 * first report; they go down only when the root orders to catch up.
 *
 * The root concludes that all nodes stopped with the same table although their reports
 * are of different times: every reporting node has nothing pending, and all sums are
 * equal.  Of two neighbours, the later report's table is at least the earlier's; if the
 * sums are equal, so are the tables.  So no entry here may shrink, and a report with
 * something pending must not count as caught up.
 */
#include "coord/coord_priv.h"

void coord_targets_clear(struct coord *c)
{
	memset(c->targets, 0, c->config.max_comms * sizeof(*c->targets));
	c->nr_targets = 0;
	c->sum = 0;
}

static struct target_entry *coord_targets_find(const struct coord *c, uint64_t comm)
{
	uint32_t i, at, size = c->config.max_comms;

	if (!size)
		return NULL;
	at = (uint32_t)((comm * 0x9e3779b97f4a7c15ull >> 32) % size);
	for (i = 0; i < size; i++, at = at + 1 == size ? 0 : at + 1) {
		if (!c->targets[at].used || c->targets[at].comm == comm)
			return &c->targets[at];
	}
	return NULL;
}

static unsigned int coord_targets_neighbours(const struct coord *c)
{
	return ((1u << c->nr_children) - 1) | (c->parent == COORD_NONE ? 0 : COORD_UP);
}

void coord_targets_raise(struct coord *c, const struct coord_target *target, unsigned int from)
{
	struct target_entry *entry = coord_targets_find(c, target->comm);
	struct coord_action *act;

	if (!entry) {
		coord_node_fail(c, COORD_WHY_TABLE, -ENOSPC, NULL);
		return;
	}
	if (!entry->used) {
		entry->used = true;
		entry->comm = target->comm;
		entry->seq = 0;
		entry->pending = 0;
		c->nr_targets++;
	}
	if (target->seq < entry->seq) {
		entry->pending |= from;
		entry->fresh |= from;
	} else if (target->seq == entry->seq) {
		entry->pending &= ~from;
		entry->fresh &= ~from;
	} else {
		c->sum += target->seq - entry->seq;
		entry->seq = target->seq;
		entry->pending = coord_targets_neighbours(c) & ~from;
		entry->fresh = entry->pending;
		if (c->level == COORD_CAUGHT_UP && c->order == COORD_ORDER_CATCH_UP)
			c->level = COORD_QUIESCED;
		act = coord_act(c, COORD_ACT_TARGET);
		act->target = *target;
	}
}

uint64_t coord_target(const struct coord *c, uint64_t comm)
{
	const struct target_entry *entry = coord_targets_find(c, comm);

	return entry && entry->used ? entry->seq : 0;
}

bool coord_targets_settled(const struct coord *c)
{
	uint32_t i;

	for (i = 0; c->nr_targets && i < c->config.max_comms; i++) {
		if (c->targets[i].used && c->targets[i].pending)
			return false;
	}
	return true;
}

static void coord_targets_on_ack(struct coord *c, const struct coord_msg *msg, unsigned int from)
{
	unsigned int i;

	for (i = 0; i < msg->count; i++) {
		struct target_entry *entry = coord_targets_find(c, msg->targets[i].comm);

		if (entry && entry->used && entry->seq == msg->targets[i].seq)
			entry->pending &= ~from;
	}
}

void coord_targets_on_msg(struct coord *c, const struct coord_msg *msg)
{
	unsigned int i, from = coord_tree_bit(c, msg->from);
	struct coord_msg *ack;

	/* a node before QUIESCE or after CATCH_UP drops the message; the sender repeats it */
	if (!from || !id_equal(msg->id, c->id) || c->order < COORD_ORDER_QUIESCE ||
	    c->order > COORD_ORDER_CATCH_UP || c->aborting || msg->count > COORD_BATCH)
		return;
	if (msg->kind == COORD_MSG_TARGETS_ACK) {
		coord_targets_on_ack(c, msg, from);
		return;
	}
	ack = coord_send(c, msg->from, COORD_MSG_TARGETS_ACK);
	if (!ack)
		return;
	ack->count = msg->count;
	memcpy(ack->targets, msg->targets, sizeof(ack->targets));
	for (i = 0; i < msg->count; i++)
		coord_targets_raise(c, &msg->targets[i], from);
}

/* Send the entries that are due to one neighbour, COORD_BATCH to a message. */
static void flush_to(struct coord *c, uint32_t node, unsigned int bit, bool again)
{
	struct coord_msg *msg = NULL;
	uint32_t i;

	for (i = 0; i < c->config.max_comms; i++) {
		struct target_entry *entry = &c->targets[i];

		if (!entry->used || !((again ? entry->pending : entry->fresh) & bit))
			continue;
		if (!msg || msg->count == COORD_BATCH) {
			msg = coord_send(c, node, COORD_MSG_TARGETS);
			if (!msg)
				return;
		}
		entry->fresh &= ~bit;
		msg->targets[msg->count].comm = entry->comm;
		msg->targets[msg->count++].seq = entry->seq;
	}
}

/* Send entries that were never sent; @again: all that are not acknowledged. */
void coord_targets_flush(struct coord *c, bool again)
{
	struct coord_report all;
	unsigned int i;

	if (c->level < COORD_QUIESCED || c->order < COORD_ORDER_QUIESCE ||
	    c->order > COORD_ORDER_CATCH_UP || !c->nr_targets)
		return;
	coord_tree_sum(c, &all);
	if (c->parent != COORD_NONE && all.level >= COORD_QUIESCED)
		flush_to(c, c->parent, COORD_UP, again);
	if (c->order < COORD_ORDER_CATCH_UP)
		return;
	for (i = 0; i < c->nr_children; i++)
		flush_to(c, c->children[i].node, 1u << i, again);
}
