// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the living nodes: a heap of the living nodes in order of their numbers.
 *
 * Owns the parent, the children and their reports, and decides when those are passed on.
 * Orders go down when they come, and again on the timer to every child whose subtree has
 * not obeyed.  A report goes up when the whole subtree has obeyed, when something in it
 * failed, and whenever the parent repeats the order.  A child's report replaces its
 * report before: it is the state of the subtree at one time, not a difference.
 */
#include "coord/coord_priv.h"

/* The node at @position among the living. */
static uint32_t coord_tree_nth(const struct coord *c, uint32_t position)
{
	uint32_t node;

	for (node = 0; node < c->config.nr_nodes; node++) {
		if (!nodes_has(&c->want.dead, node) && !position--)
			return node;
	}
	return COORD_NONE;
}

void coord_tree_build(struct coord *c)
{
	uint32_t node, position = 0, arity = c->config.arity, child;

	c->living = 0;
	for (node = 0; node < c->config.nr_nodes; node++) {
		if (nodes_has(&c->want.dead, node))
			continue;
		if (node < c->config.self)
			position++;
		c->living++;
	}
	c->parent = position ? coord_tree_nth(c, (position - 1) / arity) : COORD_NONE;
	memset(c->children, 0, sizeof(c->children));
	c->nr_children = 0;
	for (child = position * arity + 1; child <= position * arity + arity; child++) {
		if (child >= c->living)
			break;
		c->children[c->nr_children++].node = coord_tree_nth(c, child);
	}
}

uint32_t coord_depth(const struct coord *c)
{
	uint32_t depth = 0, last = c->living ? c->living - 1 : 0;

	for (; last; last = (last - 1) / c->config.arity)
		depth++;
	return depth;
}

void coord_tree_forget(struct coord *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_children; i++)
		c->children[i].heard = false;
	memset(&c->sent, 0, sizeof(c->sent));
}

unsigned int coord_tree_bit(const struct coord *c, uint32_t node)
{
	unsigned int i;

	if (node == c->parent)
		return COORD_UP;
	for (i = 0; i < c->nr_children; i++) {
		if (c->children[i].node == node)
			return 1u << i;
	}
	return 0;
}

static struct coord_id coord_tree_later(struct coord_id a, struct coord_id b)
{
	return a.attempt >= b.attempt ? a : b;
}

static struct coord_id coord_tree_earlier(struct coord_id a, struct coord_id b)
{
	return a.attempt <= b.attempt ? a : b;
}

/* Name a node that does not answer before any other: the others may wait for it, too. */
static bool more_telling(const struct coord_wait *a, const struct coord_wait *b)
{
	if (a->node == COORD_NONE || b->node == COORD_NONE)
		return a->node != COORD_NONE;
	if ((a->reason == COORD_WHY_NO_ANSWER) != (b->reason == COORD_WHY_NO_ANSWER))
		return a->reason == COORD_WHY_NO_ANSWER;
	return a->rank < b->rank || (a->rank == b->rank && a->node < b->node);
}

static void coord_tree_add(struct coord_report *all, const struct coord_report *one)
{
	if (one->level < all->level)
		all->level = one->level;
	if (one->order < all->order)
		all->order = one->order;
	if (!all->reason && one->reason) {
		all->reason = one->reason;
		all->error = one->error;
		all->wait = one->wait;
	} else if (!all->reason && more_telling(&one->wait, &all->wait)) {
		all->wait = one->wait;
	}
	all->nodes += one->nodes;
	if (one->depth + 1 > all->depth)
		all->depth = one->depth + 1;
	if (one->sum_min < all->sum_min)
		all->sum_min = one->sum_min;
	if (one->sum_max > all->sum_max)
		all->sum_max = one->sum_max;
	all->announced += one->announced;
	all->received += one->received;
	all->committed = coord_tree_later(all->committed, one->committed);
	all->committed_min = coord_tree_earlier(all->committed_min, one->committed_min);
	all->prepared = coord_tree_later(all->prepared, one->prepared);
	all->live_min = coord_tree_earlier(all->live_min, one->live_min);
	all->live = coord_tree_later(all->live, one->live);
	all->run_min = coord_tree_earlier(all->run_min, one->run_min);
	all->run_max = coord_tree_later(all->run_max, one->run_max);
	if (one->generation > all->generation)
		all->generation = one->generation;
}

void coord_tree_sum(const struct coord *c, struct coord_report *ret_report)
{
	unsigned int i;

	coord_node_report(c, ret_report);
	for (i = 0; i < c->nr_children; i++) {
		const struct coord_child *child = &c->children[i];

		if (child->heard) {
			coord_tree_add(ret_report, &child->report);
			continue;
		}
		ret_report->level = COORD_IDLE;
		if (ret_report->wait.reason != COORD_WHY_NO_ANSWER && !ret_report->reason)
			ret_report->wait = (struct coord_wait){
				.node = child->node, .rank = COORD_NONE,
				.peer = COORD_NONE, .reason = COORD_WHY_NO_ANSWER,
			};
	}
}

bool coord_tree_reached(const struct coord *c, const struct coord_report *report)
{
	const struct coord_barrier *barrier = coord_barrier(c->config.table, c->order);

	return !barrier || (report->level >= barrier->level && report->order == c->order);
}

static bool wants_more(const struct coord *c, const struct coord_child *child)
{
	if (!child->heard)
		return true;
	/* a node may fall back from this level, and its report of that may be lost: ask again */
	if (c->order == COORD_ORDER_CATCH_UP || c->order == COORD_ORDER_DRAIN)
		return true;
	return !coord_tree_reached(c, &child->report);
}

bool coord_tree_waits(const struct coord *c)
{
	unsigned int i;

	if (c->order == COORD_ORDER_NONE)
		return false;
	for (i = 0; i < c->nr_children; i++) {
		if (wants_more(c, &c->children[i]))
			return true;
	}
	return false;
}

static void send_order(struct coord *c, uint32_t node)
{
	struct coord_msg *msg;

	if (c->order == COORD_ORDER_ANSWER) {
		msg = coord_send(c, node, COORD_MSG_VIEW);
		if (msg) {
			msg->view.answer = 1;
			msg->view.dead = c->want.dead;
		}
		return;
	}
	msg = coord_send(c, node, COORD_MSG_ORDER);
	if (msg) {
		msg->order.order = c->order;
		msg->order.limit_ms = c->limit_ms;
		msg->order.reason = (uint16_t)c->abort_reason;
	}
}

/* Send the order to the children that have not obeyed; @again: a repetition by the timer. */
void coord_tree_forward(struct coord *c, bool again)
{
	unsigned int i;

	/* a term begins when its epoch is on disk: the number must never be used again */
	if (c->order == COORD_ORDER_NONE || c->disk.epoch != c->want.epoch)
		return;
	for (i = 0; i < c->nr_children; i++) {
		if (wants_more(c, &c->children[i]))
			send_order(c, c->children[i].node);
	}
	if (!again) {
		c->retry_ms = c->config.limits.retry;
		coord_retry_soon(c);
	}
}

void coord_tree_report(struct coord *c, bool always)
{
	struct coord_report all;
	struct coord_msg *msg;
	bool reached;

	if (c->expelled || c->parent == COORD_NONE || c->order == COORD_ORDER_NONE)
		return;
	coord_tree_sum(c, &all);
	/* after the pause only two levels are worth a message: THAWED and DURABLE */
	if (all.level == COORD_DUMPED)
		all.level = COORD_THAWED;
	reached = coord_tree_reached(c, &all);
	if (reached)
		all.wait = (struct coord_wait){ .node = COORD_NONE };
	if (!always && !reached && !all.reason &&
	    !(c->order == COORD_ORDER_THAW && all.level == COORD_THAWED))
		return;
	if (!always && !memcmp(&all, &c->sent, sizeof(all)))
		return;
	msg = coord_send(c, c->parent, COORD_MSG_REPORT);
	if (!msg)
		return;
	msg->serial = ++c->serial;
	msg->report = all;
	c->sent = all;
}

void coord_tree_on_report(struct coord *c, const struct coord_msg *msg)
{
	unsigned int i;

	for (i = 0; i < c->nr_children; i++) {
		struct coord_child *child = &c->children[i];

		if (child->node != msg->from)
			continue;
		if (!id_equal(msg->id, c->id) || msg->incarnation < child->incarnation ||
		    (msg->incarnation == child->incarnation && msg->serial <= child->serial))
			return;
		child->incarnation = msg->incarnation;
		child->serial = msg->serial;
		child->report = msg->report;
		child->heard = true;
		return;
	}
}
