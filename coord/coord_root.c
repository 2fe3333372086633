// SPDX-License-Identifier: GPL-2.0-only
/*
 * The root's own part: take requests, go from order to order, decide.
 *
 * The decision to commit is the order COMMIT, given when every living node is
 * durable; it is told as an outcome when every living node has persisted it.
 * The decision to abort needs no record: a generation is aborted unless a living node
 * has its commit record.  After COMMIT there is no way back: the root waits for nodes
 * that it cannot reach.  Must not decide anything before every living node has answered
 * in this epoch.
 */
#include "coord/coord_priv.h"

static uint32_t limit_of(const struct coord *c, enum coord_order order)
{
	const struct coord_limits *limits = &c->config.limits;

	switch (order) {
	case COORD_ORDER_QUIESCE:
	case COORD_ORDER_CATCH_UP:
	case COORD_ORDER_DRAIN:
		return c->term.quiesce_ms ? c->term.quiesce_ms : limits->quiesce;
	case COORD_ORDER_FREEZE:
	case COORD_ORDER_SNAPSHOT:
		return limits->pause;
	case COORD_ORDER_THAW:
		return limits->dump;
	case COORD_ORDER_COMMIT:
	case COORD_ORDER_LIVE:
	case COORD_ORDER_ABORT:
		return 0;	/* for ever */
	default:
		return limits->restart;
	}
}

void coord_root_order(struct coord *c, enum coord_order order, struct coord_id id)
{
	uint32_t limit = limit_of(c, order);

	/* QUIESCE, CATCH_UP and DRAIN share one deadline, set by the first; so do the next two */
	if (order != COORD_ORDER_CATCH_UP && order != COORD_ORDER_DRAIN &&
	    order != COORD_ORDER_SNAPSHOT)
		c->term.deadline = limit ? c->now + limit * COORD_MS : 0;
	coord_node_take(c, order, id, limit, c->term.reason);
}

void coord_root_outcome(struct coord *c, struct coord_id id, enum coord_level level)
{
	struct coord_term *term = &c->term;
	struct coord_action *act;
	bool ours = term->active && id_equal(term->id, id);

	if (ours && term->told)
		return;
	act = coord_act(c, COORD_ACT_OUTCOME);
	act->id = id;
	act->level = level;
	act->reason = level == COORD_ABORTED ? COORD_WHY_ROOT_LOST : COORD_WHY_NONE;
	if (ours) {
		act->ticket = term->ticket;
		act->reason = level == COORD_ABORTED ? term->reason : COORD_WHY_NONE;
		act->error = level == COORD_ABORTED ? term->error : 0;
		act->wait = term->wait;
		term->told = true;
	}
}

void coord_root_abort(struct coord *c, enum coord_reason reason, int32_t error,
		      const struct coord_wait *wait)
{
	const struct coord_barrier *barrier = coord_barrier(c->config.table, c->order);

	if (!c->term.active || !barrier || !barrier->may_abort)
		return;
	c->term.reason = reason;
	c->term.error = error;
	if (wait)
		c->term.wait = *wait;
	coord_root_outcome(c, c->term.id, COORD_ABORTED);
	coord_root_order(c, COORD_ORDER_ABORT, c->term.id);
}

void coord_root_deadline(struct coord *c)
{
	struct coord_report all;

	if (!c->term.deadline || c->now < c->term.deadline || !coord_is_root(c))
		return;
	c->term.deadline = 0;
	coord_tree_sum(c, &all);
	coord_root_abort(c, COORD_WHY_TIMEOUT, -ETIMEDOUT, &all.wait);
}

/* --------------------------------------------------------------- recovery */

/* A restart that this root began in an earlier term: live if any node wrote so, else aborted. */
static void resume_restart(struct coord *c, const struct coord_report *all)
{
	struct coord_id id = c->term.id;

	if (id_equal(all->live, id)) {
		coord_root_order(c, COORD_ORDER_LIVE, id);
		return;
	}
	coord_root_outcome(c, id, COORD_ABORTED);
	coord_root_order(c, COORD_ORDER_ABORT, id);
}

/*
 * Every living node has answered.  A commit record of any of them decides for commit; a
 * checkpoint that is prepared somewhere and has no commit record is aborted.
 */
static void coord_root_decide(struct coord *c, const struct coord_report *all)
{
	struct coord_term *term = &c->term;
	struct coord_id doubt = term->active ? term->id : all->prepared;
	struct coord_id done = all->committed, torn;
	bool partly = !id_equal(done, all->committed_min) || id_equal(done, all->prepared);

	if (all->generation > c->generation)
		c->generation = all->generation;
	if (!c->config.table->any_commits && partly)
		done = (struct coord_id){ 0 };
	if (term->active && term->restart) {
		resume_restart(c, all);
		return;
	}
	if (id_is(done) && done.attempt >= doubt.attempt &&
	    (partly || id_equal(done, doubt))) {
		coord_root_order(c, COORD_ORDER_COMMIT, done);
		return;
	}
	if (id_is(doubt) && doubt.attempt > done.attempt) {
		coord_root_outcome(c, doubt, COORD_ABORTED);
		coord_root_order(c, COORD_ORDER_ABORT, doubt);
		return;
	}
	torn = coord_restart_torn(all);
	if (id_is(torn)) {
		coord_root_outcome(c, torn, COORD_ABORTED);
		coord_root_order(c, COORD_ORDER_ABORT, torn);
		return;
	}
	if (id_is(all->live) && !id_equal(all->live, all->live_min) &&
	    id_equal(all->live, all->run_max)) {
		coord_root_order(c, COORD_ORDER_LIVE, all->live);
		return;
	}
	c->order = COORD_ORDER_NONE;
	term->active = false;
}

/* --------------------------------------------------------------- progress */

static void coord_root_finish(struct coord *c)
{
	if (c->order == COORD_ORDER_COMMIT)
		coord_root_outcome(c, c->id, COORD_COMMITTED);
	else if (c->order == COORD_ORDER_LIVE)
		coord_root_outcome(c, c->id, COORD_LIVE);
	c->order = COORD_ORDER_NONE;
	c->term.deadline = 0;
	if (id_equal(c->term.id, c->id) && c->term.active)
		c->term.active = false;
}

static bool coord_root_settled(const struct coord *c, const struct coord_report *all)
{
	if (!coord_tree_reached(c, all))
		return false;
	if (!c->config.table->equal_sums)
		return true;
	/* reports are of different times: see coord_targets.c, coord_channels.c */
	if (c->order == COORD_ORDER_CATCH_UP)
		return all->sum_min == all->sum_max;
	if (c->order == COORD_ORDER_DRAIN)
		return all->announced == all->received;
	return true;
}

void coord_root_advance(struct coord *c)
{
	const struct coord_barrier *barrier;
	struct coord_report all;

	for (;;) {
		barrier = coord_barrier(c->config.table, c->order);
		if (!barrier || !coord_is_root(c))
			return;
		coord_tree_sum(c, &all);
		if (all.reason && barrier->may_abort && c->term.active) {
			coord_root_abort(c, all.reason, all.error, &all.wait);
			continue;
		}
		if (!coord_root_settled(c, &all))
			return;
		if (c->order == COORD_ORDER_ANSWER)
			coord_root_decide(c, &all);
		else if (barrier->next == COORD_ORDER_NONE)
			coord_root_finish(c);
		else
			coord_root_order(c, barrier->next, c->id);
		if (c->order == COORD_ORDER_NONE)
			return;
	}
}

/* --------------------------------------------------------------- requests */

static enum coord_reason coord_root_busy(const struct coord *c)
{
	if (c->order == COORD_ORDER_ANSWER)
		return COORD_WHY_RECOVERING;
	if (c->order == COORD_ORDER_ABORT)
		return COORD_WHY_BUSY_ABORT;
	if (c->order == COORD_ORDER_NONE)
		return COORD_WHY_NONE;
	return c->term.active && c->term.restart ? COORD_WHY_BUSY_RESTART :
	       COORD_WHY_BUSY_CHECKPOINT;
}

static bool any_dead(const struct coord *c)
{
	return c->living < c->config.nr_nodes;
}

/* Reason to refuse the request now, with its *ret_error; NONE: it may begin. */
static enum coord_reason coord_root_refuse(const struct coord *c, enum coord_request request,
					   int32_t *ret_error)
{
	enum coord_reason reason = coord_root_busy(c);

	*ret_error = -EBUSY;
	if (reason)
		return reason;
	if (request == COORD_RESTART)
		return id_is(c->run) ? COORD_WHY_RUNNING : COORD_WHY_NONE;
	*ret_error = -EHOSTDOWN;
	if (any_dead(c))
		return COORD_WHY_NODE_DEAD;
	*ret_error = -ESRCH;
	return id_is(c->run) ? COORD_WHY_NONE : COORD_WHY_NOT_RUNNING;
}

static void coord_root_reply(struct coord *c, const struct coord_event *event, int32_t error,
			     enum coord_reason reason)
{
	struct coord_action *act = coord_act(c, COORD_ACT_REPLY);
	struct coord_report all;

	coord_tree_sum(c, &all);
	act->ticket = event->ticket;
	act->error = error;
	act->reason = reason;
	act->id = c->id;
	act->level = (enum coord_level)all.level;
	act->wait = all.wait;
	act->node = coord_root(c);
}

static void coord_root_start(struct coord *c, const struct coord_event *event)
{
	struct coord_term *term = &c->term;
	bool restart = event->request == COORD_RESTART;

	memset(term, 0, sizeof(*term));
	term->active = true;
	term->restart = restart;
	term->ticket = event->ticket;
	term->quiesce_ms = event->quiesce_ms;
	term->wait.node = COORD_NONE;
	term->id.generation = restart ? event->generation : c->generation + 1;
	term->id.attempt = c->want.epoch << 16 | ++c->operations;
	coord_root_order(c, restart ? COORD_ORDER_PLACE : COORD_ORDER_QUIESCE, term->id);
}

static void abort_request(struct coord *c, const struct coord_event *event)
{
	const struct coord_barrier *barrier = coord_barrier(c->config.table, c->order);

	if (c->order == COORD_ORDER_ABORT)
		coord_root_reply(c, event, -EALREADY, COORD_WHY_BUSY_ABORT);
	else if (!c->term.active)
		coord_root_reply(c, event, -ESRCH, COORD_WHY_NOTHING);
	else if (!barrier || !barrier->may_abort)
		coord_root_reply(c, event, -EBUSY, COORD_WHY_DECIDED);
	else {
		coord_root_abort(c, COORD_WHY_ASKED, -ECANCELED, NULL);
		coord_root_reply(c, event, 0, COORD_WHY_NONE);
	}
}

void coord_root_request(struct coord *c, const struct coord_event *event)
{
	enum coord_reason reason;
	int32_t error;

	if (event->request == COORD_STATUS) {
		coord_root_reply(c, event, 0, coord_root_busy(c));
		return;
	}
	if (!coord_is_root(c)) {
		coord_root_reply(c, event, -EREMOTE, c->expelled ? COORD_WHY_EXPELLED :
				 COORD_WHY_NOT_ROOT);
		return;
	}
	if (event->request == COORD_ABORT) {
		abort_request(c, event);
		return;
	}
	reason = coord_root_refuse(c, event->request, &error);
	if (reason)
		coord_root_reply(c, event, error, reason);
	else
		coord_root_start(c, event);
}
