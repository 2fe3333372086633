// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which nodes are dead, which is the root, and how a node returns.
 *
 * The root is the living node with the lowest number.  It begins a term when it starts and
 * whenever a node is declared dead.  A term is a new epoch: the root has it on disk before
 * any node hears of it, and every node has it on disk before it answers.  So no message of
 * an earlier epoch can have an effect after an answer was given.  Silence, however long,
 * changes nothing here.
 *
 * A node that was declared dead takes no part any more.  It asks what became of its
 * records, and only a root with nothing left to decide tells it.
 */
#include "coord/coord_priv.h"

static uint32_t lowest_living(const struct coord *c)
{
	uint32_t node;

	for (node = 0; node < c->config.nr_nodes; node++) {
		if (!nodes_has(&c->want.dead, node) && !nodes_has(&c->reported, node))
			return node;
	}
	return COORD_NONE;
}

uint32_t coord_root(const struct coord *c)
{
	return lowest_living(c);
}

static bool has_news(const struct coord *c)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c->reported.bits); i++) {
		if (c->reported.bits[i] & ~c->want.dead.bits[i])
			return true;
	}
	return false;
}

static bool must_ask(const struct coord *c)
{
	return c->expelled &&
	       ((id_is(c->want.committed) && !c->resolved[0]) ||
		(id_is(c->want.prepared) && !c->resolved[1]));
}

bool coord_view_waits(const struct coord *c)
{
	if (c->expelled)
		return must_ask(c);
	return !c->greeted || has_news(c);
}

/* Begin an epoch: all state of the epoch before is void, except the record on disk. */
static void begin_epoch(struct coord *c, uint64_t epoch, enum coord_order order)
{
	coord_node_drop(c);
	c->want.epoch = epoch;
	c->epoch_seen = epoch > c->epoch_seen ? epoch : c->epoch_seen;
	c->id = (struct coord_id){ 0 };
	c->order = (uint8_t)order;
	c->level = COORD_IDLE;
	c->begun = COORD_IDLE;
	coord_tree_build(c);
	coord_tree_forget(c);
	coord_persist(c);
	coord_retry_soon(c);
}

void coord_view_begin_term(struct coord *c)
{
	unsigned int i;
	uint64_t last = c->epoch_seen > c->want.epoch ? c->epoch_seen : c->want.epoch;

	for (i = 0; i < ARRAY_SIZE(c->reported.bits); i++)
		c->want.dead.bits[i] |= c->reported.bits[i];
	c->operations = 0;
	c->term.deadline = 0;
	if (c->term.active && !c->term.reason) {
		c->term.reason = COORD_WHY_NODE_DEAD;
		c->term.error = -EHOSTDOWN;
	}
	c->greeted = true;
	begin_epoch(c, ((last >> 12) + 1) << 12 | c->config.self, COORD_ORDER_ANSWER);
}

/* Start: first abort, so that ranks which an earlier daemon left standing still run on. */
void coord_view_start(struct coord *c)
{
	c->expelled = c->config.expelled || nodes_has(&c->want.dead, c->config.self);
	c->aborting = true;
	coord_act_local(c, COORD_ACT_ABORT);
	coord_retry_soon(c);
	if (!c->expelled && lowest_living(c) == c->config.self)
		coord_view_begin_term(c);
	else
		coord_view_retry(c);
}

void coord_view_on_dead(struct coord *c, uint32_t node)
{
	if (node >= c->config.nr_nodes || node == c->config.self || c->expelled ||
	    nodes_has(&c->reported, node) || nodes_has(&c->want.dead, node))
		return;
	nodes_add(&c->reported, node);
	if (lowest_living(c) == c->config.self)
		coord_view_begin_term(c);
	else
		coord_view_retry(c);
}

/* -------------------------------------------------------- views of others */

static void coord_view_expel(struct coord *c)
{
	coord_node_drop(c);
	c->expelled = true;
	c->order = COORD_ORDER_NONE;
	coord_retry_soon(c);
}

void coord_view_on_view(struct coord *c, const struct coord_msg *msg)
{
	unsigned int i;

	if (c->expelled)
		return;
	if (msg->epoch < c->want.epoch) {
		/* a root that does not know the last epoch must hear of it */
		coord_send(c, msg->from, COORD_MSG_REPORT);
		return;
	}
	if (nodes_has(&msg->view.dead, c->config.self)) {
		coord_view_expel(c);
		return;
	}
	c->greeted = true;
	if (msg->epoch > c->want.epoch) {
		for (i = 0; i < ARRAY_SIZE(c->reported.bits); i++)
			c->want.dead.bits[i] |= msg->view.dead.bits[i];
		begin_epoch(c, msg->epoch, msg->view.answer ? COORD_ORDER_ANSWER :
			    COORD_ORDER_NONE);
	} else if (msg->view.answer && c->order == COORD_ORDER_NONE &&
		   !coord_is_root(c)) {
		c->order = COORD_ORDER_ANSWER;
		coord_tree_forward(c, false);
	}
	/* answer only when the epoch is on disk; else the report goes out after that */
	if (c->order == COORD_ORDER_ANSWER && coord_is_persisted(c))
		coord_tree_report(c, true);
}

/* Tell a daemon that has just started the view, and the decision that it is in doubt about. */
void coord_view_on_hello(struct coord *c, const struct coord_msg *msg)
{
	struct coord_id doubt = msg->records.prepared;
	struct coord_msg *view;
	struct coord_msg *order;

	if (c->expelled || c->disk.epoch != c->want.epoch)
		return;
	view = coord_send(c, msg->from, COORD_MSG_VIEW);
	if (view)
		view->view.dead = c->want.dead;
	if (!id_is(doubt) || !coord_is_root(c) || c->order != COORD_ORDER_NONE ||
	    nodes_has(&c->want.dead, msg->from))
		return;
	order = coord_send(c, msg->from, COORD_MSG_ORDER);
	if (!order)
		return;
	order->id = doubt;
	order->order.direct = 1;
	order->order.order = id_equal(doubt, c->disk.committed) ? COORD_ORDER_COMMIT :
			     COORD_ORDER_ABORT;
}

/* ------------------------------------------------------------ the expelled */

void coord_view_on_ask(struct coord *c, const struct coord_msg *msg)
{
	struct coord_id committed = msg->records.committed, prepared = msg->records.prepared;
	struct coord_id ours = c->disk.committed;
	struct coord_msg *tell;

	/* tell only decisions that every living node has persisted */
	if (!coord_is_root(c) || c->order != COORD_ORDER_NONE ||
	    !nodes_has(&c->want.dead, msg->from))
		return;
	tell = coord_send(c, msg->from, COORD_MSG_TELL);
	if (!tell)
		return;
	tell->records = msg->records;
	tell->records.known[0] = committed.attempt <= ours.attempt ? COORD_WAS_COMMITTED :
				 COORD_WAS_ABORTED;
	tell->records.known[1] = id_equal(prepared, ours) ? COORD_WAS_COMMITTED :
				 COORD_WAS_ABORTED;
}

void coord_view_on_tell(struct coord *c, const struct coord_msg *msg)
{
	const struct coord_records *told = &msg->records;

	if (!c->expelled)
		return;
	if (id_is(c->want.committed) && !c->resolved[0] &&
	    id_equal(told->committed, c->want.committed)) {
		c->resolved[0] = true;
		if (told->known[0] == COORD_WAS_ABORTED) {
			c->want.committed = c->want.previous;
			c->want.previous = (struct coord_id){ 0 };
		}
	}
	if (id_is(c->want.prepared) && id_equal(told->prepared, c->want.prepared))
		coord_node_resolve(c, told->known[1] == COORD_WAS_COMMITTED ?
				   COORD_ORDER_COMMIT : COORD_ORDER_ABORT, told->prepared);
	coord_persist(c);
}

static void coord_view_ask(struct coord *c)
{
	struct coord_msg *msg;

	c->ask_next = (c->ask_next + 1) % c->config.nr_nodes;
	if (c->ask_next == c->config.self)
		c->ask_next = (c->ask_next + 1) % c->config.nr_nodes;
	msg = coord_send(c, c->ask_next, COORD_MSG_ASK);
	if (msg) {
		msg->records.committed = c->want.committed;
		msg->records.prepared = c->want.prepared;
	}
}

void coord_view_retry(struct coord *c)
{
	uint32_t node, root = lowest_living(c);
	struct coord_msg *msg;

	if (c->expelled) {
		if (must_ask(c))
			coord_view_ask(c);
		return;
	}
	if (root == COORD_NONE || root == c->config.self)
		return;
	if (!c->greeted) {
		msg = coord_send(c, root, COORD_MSG_HELLO);
		if (msg) {
			msg->records.committed = c->disk.committed;
			msg->records.prepared = c->disk.prepared;
		}
	}
	for (node = 0; has_news(c) && node < c->config.nr_nodes; node++) {
		if (!nodes_has(&c->reported, node) || nodes_has(&c->want.dead, node))
			continue;
		msg = coord_send(c, root, COORD_MSG_DEAD);
		if (msg)
			msg->dead = node;
	}
}
