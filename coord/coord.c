// SPDX-License-Identifier: GPL-2.0-only
/*
 * The coordinator's entry: creation, dispatch of events, timers, the list of actions.
 *
 * Owns the memory it was handed and the actions of a step.  Every step ends in the same
 * way: local work goes on as far as orders allow, the root goes from order to order, the
 * other nodes report, and a WAKE names the next time at which something is due.  Must not
 * call anything that can fail, wait, allocate or tell the time.
 */
#include "coord/coord_priv.h"

static size_t coord_align(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

static size_t max_actions(const struct coord_config *config)
{
	return COORD_RESERVED + 4 * config->arity + 16;
}

size_t coord_size(const struct coord_config *config)
{
	return coord_align(sizeof(struct coord)) +
	       coord_align(config->max_comms * sizeof(struct target_entry)) +
	       coord_align(config->max_channels * sizeof(struct coord_channel)) +
	       coord_align(config->max_channels * sizeof(uint32_t)) +
	       coord_align(config->max_channels * sizeof(struct channel_in)) +
	       coord_align(max_actions(config) * sizeof(struct coord_action));
}

static void *coord_carve(char **memory, size_t size)
{
	void *part = *memory;

	*memory += coord_align(size);
	return part;
}

static bool is_valid(const struct coord_config *config)
{
	const struct coord_limits *limits = &config->limits;

	return config->nr_nodes && config->nr_nodes <= COORD_NODES_MAX &&
	       config->self < config->nr_nodes && config->arity &&
	       config->arity <= COORD_ARITY_MAX && config->table && limits->retry &&
	       limits->retry_max >= limits->retry && limits->quiesce && limits->pause &&
	       limits->dump && limits->restart && (!config->nr_ranks || config->node_of);
}

int coord_create(void *memory, const struct coord_config *config,
		 const struct coord_record *record, struct coord **ret_coord)
{
	char *at = memory;
	struct coord *c;

	if (!is_valid(config))
		return -EINVAL;
	c = coord_carve(&at, sizeof(*c));
	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->want = *record;
	c->disk = *record;
	c->run = config->run;
	c->epoch_seen = record->epoch;
	c->generation = record->committed.generation > record->prepared.generation ?
			record->committed.generation : record->prepared.generation;
	if (config->run.generation > c->generation)
		c->generation = config->run.generation;
	if (config->generation > c->generation)
		c->generation = config->generation;
	c->wait.node = COORD_NONE;
	c->targets = coord_carve(&at, config->max_comms * sizeof(*c->targets));
	c->out = coord_carve(&at, config->max_channels * sizeof(*c->out));
	c->out_state = coord_carve(&at, config->max_channels * sizeof(*c->out_state));
	c->in = coord_carve(&at, config->max_channels * sizeof(*c->in));
	c->max_actions = max_actions(config);
	c->actions = coord_carve(&at, c->max_actions * sizeof(*c->actions));
	coord_targets_clear(c);
	coord_channels_clear(c);
	coord_tree_build(c);
	*ret_coord = c;
	return 0;
}

/* ---------------------------------------------------------------- actions */

bool coord_has_room(const struct coord *c)
{
	return c->nr_actions < c->max_actions - COORD_RESERVED;
}

struct coord_action *coord_act(struct coord *c, enum coord_action_kind kind)
{
	struct coord_action *act;

	/* COORD_RESERVED are for actions that must not be lost; no step has so many of them */
	if (c->nr_actions == c->max_actions)
		c->nr_actions--;
	act = &c->actions[c->nr_actions++];
	memset(act, 0, offsetof(struct coord_action, target));
	act->kind = kind;
	act->node = COORD_NONE;
	act->wait.node = COORD_NONE;
	return act;
}

void coord_act_local(struct coord *c, enum coord_action_kind kind)
{
	struct coord_action *act = coord_act(c, kind);

	c->doing = (uint8_t)kind;
	c->cookie = ++c->cookies;
	act->cookie = c->cookie;
	act->id = c->id;
}

struct coord_msg *coord_send(struct coord *c, uint32_t node, enum coord_msg_kind kind)
{
	struct coord_action *act;

	if (!coord_has_room(c) || node >= c->config.nr_nodes)
		return NULL;
	act = coord_act(c, COORD_ACT_SEND);
	act->node = node;
	memset(&act->msg, 0, sizeof(act->msg));
	act->msg.kind = (uint16_t)kind;
	act->msg.from = c->config.self;
	act->msg.epoch = c->want.epoch;
	act->msg.incarnation = c->config.incarnation;
	act->msg.id = c->id;
	return &act->msg;
}

/* ----------------------------------------------------------------- events */

static void on_order(struct coord *c, const struct coord_msg *msg)
{
	if (c->expelled || msg->epoch != c->want.epoch || !id_is(msg->id) ||
	    msg->order.order >= COORD_ORDERS)
		return;
	c->greeted = true;
	if (msg->order.direct)
		coord_node_resolve(c, msg->order.order, msg->id);
	else if (msg->from == c->parent)
		coord_node_take(c, msg->order.order, msg->id, msg->order.limit_ms,
				msg->order.reason);
}

static void on_report(struct coord *c, const struct coord_msg *msg)
{
	if (msg->epoch > c->want.epoch) {
		/* the sender knows a later epoch than this root: begin a term after that one */
		if (msg->epoch > c->epoch_seen)
			c->epoch_seen = msg->epoch;
		if (coord_is_root(c) && coord_root(c) == c->config.self)
			coord_view_begin_term(c);
	} else if (msg->epoch == c->want.epoch && !c->expelled) {
		coord_tree_on_report(c, msg);
	}
}

static void on_msg(struct coord *c, const struct coord_msg *msg)
{
	bool here = msg->epoch == c->want.epoch && !c->expelled;

	if (msg->from >= c->config.nr_nodes)
		return;
	switch (msg->kind) {
	case COORD_MSG_VIEW:
		coord_view_on_view(c, msg);
		break;
	case COORD_MSG_ORDER:
		on_order(c, msg);
		break;
	case COORD_MSG_REPORT:
		on_report(c, msg);
		break;
	case COORD_MSG_TARGETS:
	case COORD_MSG_TARGETS_ACK:
		if (here)
			coord_targets_on_msg(c, msg);
		break;
	case COORD_MSG_CHANNELS:
	case COORD_MSG_CHANNELS_ACK:
		if (here)
			coord_channels_on_msg(c, msg);
		break;
	case COORD_MSG_HELLO:
		coord_view_on_hello(c, msg);
		break;
	case COORD_MSG_DEAD:
		coord_view_on_dead(c, msg->dead);
		break;
	case COORD_MSG_ASK:
		coord_view_on_ask(c, msg);
		break;
	case COORD_MSG_TELL:
		coord_view_on_tell(c, msg);
		break;
	}
}

static void on_local(struct coord *c, const struct coord_event *event)
{
	bool busy = c->order >= COORD_ORDER_QUIESCE && !c->aborting && !c->reason;

	switch (event->kind) {
	case COORD_EV_SEQ:
		if (busy && c->order <= COORD_ORDER_CATCH_UP)
			coord_targets_raise(c, &event->target, 0);
		break;
	case COORD_EV_CAUGHT_UP:
		coord_node_caught_up(c, event->sum);
		break;
	case COORD_EV_SENT:
		if (busy && c->order == COORD_ORDER_DRAIN)
			coord_channels_sent(c, &event->channel);
		break;
	case COORD_EV_CLOSED:
		if (busy && c->order == COORD_ORDER_DRAIN)
			c->closed = true;
		break;
	case COORD_EV_RECEIVED:
		if (busy && c->order == COORD_ORDER_DRAIN)
			coord_channels_received(c, &event->channel);
		break;
	case COORD_EV_WAIT:
		c->wait = event->wait;
		c->wait.node = c->config.self;
		break;
	case COORD_EV_FAILED:
		/*
		 * After the thaw a rank's failure does no harm to what was captured: only the
		 * loss of the job's home node still counts.
		 */
		if (busy && (c->level < COORD_THAWED || c->level >= COORD_PLACED ||
			     event->reason == COORD_WHY_ROOT_LOST))
			coord_node_fail(c, event->reason ? event->reason : COORD_WHY_FAILED,
					event->error, &event->wait);
		break;
	default:
		break;
	}
}

/* ----------------------------------------------------------------- timers */

void coord_retry_soon(struct coord *c)
{
	if (c->retry_ms < c->config.limits.retry)
		c->retry_ms = c->config.limits.retry;
	c->retry_at = c->now + c->retry_ms * COORD_MS;
}

static bool must_retry(const struct coord *c)
{
	return coord_view_waits(c) || (c->aborting && !c->doing) ||
	       (!c->expelled && coord_tree_waits(c)) ||
	       (c->order == COORD_ORDER_CATCH_UP && !coord_targets_settled(c)) ||
	       c->order == COORD_ORDER_DRAIN;
}

static void on_time(struct coord *c)
{
	coord_node_guard(c);
	coord_root_deadline(c);
	if (!c->retry_at || c->now < c->retry_at)
		return;
	c->retry_at = 0;
	if (c->aborting && !c->doing)
		coord_act_local(c, c->restart ? COORD_ACT_KILL : COORD_ACT_ABORT);
	coord_view_retry(c);
	if (!c->expelled) {
		coord_targets_flush(c, true);
		coord_channels_flush(c, true);
		coord_tree_forward(c, true);
	}
	c->retry_ms = c->retry_ms * 2 < c->config.limits.retry_max ? c->retry_ms * 2 :
		      c->config.limits.retry_max;
}

static void coord_earliest(uint64_t *at, uint64_t other)
{
	if (other && (!*at || other < *at))
		*at = other;
}

static void coord_wake(struct coord *c)
{
	uint64_t at = 0;

	if (!c->retry_at && must_retry(c))
		coord_retry_soon(c);
	coord_earliest(&at, c->retry_at);
	coord_earliest(&at, c->guard_at);
	coord_earliest(&at, c->term.deadline);
	if (!c->persisting && !coord_is_persisted(c))
		coord_earliest(&at, c->persist_at);
	if (at && at != c->wake_at) {
		coord_act(c, COORD_ACT_WAKE)->at = at;
		c->wake_at = at;
	}
}

size_t coord_step(struct coord *c, const struct coord_event *event,
		  const struct coord_action **ret_actions)
{
	c->now = event->now;
	c->nr_actions = 0;
	switch (event->kind) {
	case COORD_EV_START:
		coord_view_start(c);
		break;
	case COORD_EV_TIME:
		c->wake_at = 0;
		break;
	case COORD_EV_MSG:
		on_msg(c, event->msg);
		break;
	case COORD_EV_DONE:
		coord_node_done(c, event);
		break;
	case COORD_EV_REQUEST:
		coord_root_request(c, event);
		break;
	case COORD_EV_DEAD:
		coord_view_on_dead(c, event->node);
		break;
	default:
		on_local(c, event);
	}
	on_time(c);
	coord_node_pump(c);
	if (!c->expelled) {
		coord_targets_flush(c, false);
		coord_channels_flush(c, false);
		coord_root_advance(c);
		coord_tree_report(c, false);
	}
	coord_wake(c);
	*ret_actions = c->actions;
	return c->nr_actions;
}

/* ------------------------------------------------- for status pages and tests */

bool coord_is_idle(const struct coord *c)
{
	if (!coord_is_persisted(c) || c->aborting || c->doing || coord_view_waits(c))
		return false;
	if (id_is(c->disk.prepared))
		return false;
	return c->expelled || c->order <= COORD_ORDER_ANSWER || coord_node_has_ended(c);
}

enum coord_level coord_level(const struct coord *c)
{
	return (enum coord_level)c->level;
}

enum coord_order coord_order(const struct coord *c)
{
	return (enum coord_order)c->order;
}

enum coord_level coord_all_level(const struct coord *c)
{
	struct coord_report all;

	coord_tree_sum(c, &all);
	return (enum coord_level)all.level;
}

struct coord_id coord_id(const struct coord *c)
{
	return c->id;
}

const struct coord_record *coord_record(const struct coord *c)
{
	return &c->disk;
}

uint64_t coord_sum(const struct coord *c)
{
	return c->sum;
}
