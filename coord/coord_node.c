// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node's own part: orders become local actions, one after the other, by the table.
 *
 * Owns the level, the record on disk, and giving up.  Until a node has begun to
 * persist that it is prepared, it may give up by itself at any time, and its ranks run
 * at once.  From then on it is in doubt, and only an order ends the doubt.
 * An action's effect counts when its completion arrives as an event; a record counts
 * when it is on disk.  Must not send messages: other nodes learn all from the report.
 */
#include "coord/coord_priv.h"

bool coord_node_has_ended(const struct coord *c)
{
	return c->level == COORD_COMMITTED || c->level == COORD_LIVE ||
	       c->level == COORD_ABORTED;
}

static bool in_doubt(const struct coord *c)
{
	return id_is(c->id) && (id_equal(c->want.prepared, c->id) ||
				id_equal(c->disk.prepared, c->id) ||
				id_equal(c->want.committed, c->id) ||
				id_equal(c->want.live, c->id));
}

/* ---------------------------------------------------------------- record */

bool coord_is_persisted(const struct coord *c)
{
	return !c->persisting && !memcmp(&c->want, &c->disk, sizeof(c->want));
}

void coord_persist(struct coord *c)
{
	struct coord_action *act;

	if (c->persisting || coord_is_persisted(c) || c->now < c->persist_at)
		return;
	c->persisting = true;
	c->persist_at = 0;
	c->persist_cookie = ++c->cookies;
	c->in_flight = c->want;
	act = coord_act(c, COORD_ACT_PERSIST);
	act->cookie = c->persist_cookie;
	act->record = c->want;
}

static void want_committed(struct coord *c, struct coord_id id)
{
	if (!id_equal(c->want.committed, id)) {
		c->want.previous = c->want.committed;
		c->want.committed = id;
	}
	if (id_equal(c->want.prepared, id))
		c->want.prepared = (struct coord_id){ 0 };
}

static void coord_node_persisted(struct coord *c, int error)
{
	c->persisting = false;
	if (!error) {
		c->disk = c->in_flight;
		/* the term begins here, with its epoch on disk: pass ANSWER on */
		if (c->order == COORD_ORDER_ANSWER && c->disk.epoch == c->want.epoch)
			coord_tree_forward(c, false);
		return;
	}
	c->persist_at = c->now + c->config.limits.retry_max * COORD_MS;
	/* the record may be on disk or not: being prepared binds only this node */
	if (c->begun == COORD_DURABLE && c->level == COORD_DUMPED &&
	    id_equal(c->want.prepared, c->id)) {
		c->want.prepared = (struct coord_id){ 0 };
		c->disk.prepared = (struct coord_id){ 0 };
		coord_node_fail(c, COORD_WHY_DISK, error, NULL);
	}
}

/* -------------------------------------------------------------- giving up */

static void abort_here(struct coord *c)
{
	bool kill = c->restart || (id_is(c->run) && id_equal(c->run, c->id));

	c->aborting = true;
	c->over = c->id;
	c->guard_at = 0;
	c->level = COORD_IDLE;
	c->begun = COORD_IDLE;
	coord_act_local(c, kill ? COORD_ACT_KILL : COORD_ACT_ABORT);
}

static bool has_begun(const struct coord *c)
{
	return c->level != COORD_IDLE || c->doing || c->begun != COORD_IDLE;
}

void coord_node_fail(struct coord *c, enum coord_reason reason, int32_t error,
		     const struct coord_wait *wait)
{
	/* ranks that run are in doubt, too: the root may have declared the restart live */
	if (c->aborting || c->reason || in_doubt(c) || coord_node_has_ended(c) ||
	    c->level == COORD_RUNNING ||
	    c->order <= COORD_ORDER_ANSWER || c->order == COORD_ORDER_ABORT)
		return;
	c->reason = reason;
	c->error = error;
	c->fault = (struct coord_wait){ c->config.self, COORD_NONE, COORD_NONE, 0, reason, 0, 0 };
	if (wait) {
		c->fault = *wait;
		c->fault.node = c->config.self;
	}
	if (has_begun(c))
		abort_here(c);
}

void coord_node_drop(struct coord *c)
{
	if (!c->aborting && !in_doubt(c) && !coord_node_has_ended(c) && has_begun(c) &&
	    c->level != COORD_RUNNING && c->order > COORD_ORDER_ANSWER)
		abort_here(c);
	c->reason = COORD_WHY_NONE;
	c->error = 0;
	c->guard_at = 0;
}

void coord_node_guard(struct coord *c)
{
	bool pause = c->level == COORD_FROZEN || c->level == COORD_SNAPSHOTTED ||
		     c->doing == COORD_ACT_FREEZE;

	if (!c->guard_at || c->now < c->guard_at)
		return;
	c->guard_at = 0;
	if (pause && !c->config.table->guard_pause)
		return;
	coord_node_fail(c, pause ? COORD_WHY_PAUSE : COORD_WHY_TIMEOUT, -ETIMEDOUT, &c->wait);
}

/* ---------------------------------------------------------------- actions */

static void coord_node_begin(struct coord *c, const struct coord_step *step)
{
	c->begun = step->to;
	switch (step->action) {
	case COORD_ACT_CATCH_UP:
	case COORD_ACT_DRAIN:
		/* these have no completion: events tell when the level is reached */
		coord_act(c, (enum coord_action_kind)step->action)->id = c->id;
		return;
	case COORD_ACT_FREEZE:
		c->guard_at = c->now + c->config.limits.pause * COORD_MS;
		break;
	}
	coord_act_local(c, (enum coord_action_kind)step->action);
}

static bool record_counts(const struct coord *c, unsigned int level)
{
	const struct coord_record *record = c->config.table->persist_first ? &c->disk : &c->want;

	if (level == COORD_LIVE)
		return id_equal(record->live, c->id);
	return id_equal(level == COORD_DURABLE ? record->prepared : record->committed, c->id);
}

/* Whether a step whose action has no completion has reached its level. */
static bool coord_node_arrived(struct coord *c, const struct coord_step *step)
{
	switch (step->action) {
	case COORD_ACT_PERSIST:
		if (step->to == COORD_DURABLE)
			c->want.prepared = c->id;
		else if (step->to == COORD_LIVE)
			c->want.live = c->id;
		else
			want_committed(c, c->id);
		coord_persist(c);
		return record_counts(c, step->to);
	case COORD_ACT_DRAIN:
		return c->begun == step->to && coord_channels_drained(c);
	}
	return false;
}

void coord_node_pump(struct coord *c)
{
	const struct coord_step *step;

	while (!c->aborting && !c->reason && !c->doing && c->order > COORD_ORDER_ANSWER &&
	       c->order != COORD_ORDER_ABORT && !coord_node_has_ended(c) &&
	       !id_equal(c->over, c->id)) {
		step = coord_step_from(c->config.table, c->level, c->order);
		if (!step)
			break;
		if (step->action != COORD_ACT_PERSIST && c->begun != step->to)
			coord_node_begin(c, step);
		else if (step->action == COORD_ACT_PERSIST)
			c->begun = step->to;
		if (!coord_node_arrived(c, step))
			break;
		c->level = step->to;
	}
	coord_persist(c);
}

void coord_node_caught_up(struct coord *c, uint64_t sum)
{
	if (c->begun == COORD_CAUGHT_UP && c->level == COORD_QUIESCED && sum == c->sum)
		c->level = COORD_CAUGHT_UP;
}

static void coord_node_aborted(struct coord *c, int error)
{
	if (error)
		return;		/* still aborting: the timer tries again */
	if (id_equal(c->run, c->over))
		c->run = (struct coord_id){ 0 };
	c->aborting = false;
	c->level = c->order == COORD_ORDER_ABORT && id_equal(c->over, c->id) ?
		   COORD_ABORTED : COORD_IDLE;
}

void coord_node_done(struct coord *c, const struct coord_event *event)
{
	unsigned int action = c->doing;

	if (c->persisting && event->cookie == c->persist_cookie) {
		coord_node_persisted(c, event->error);
		return;
	}
	if (!c->doing || event->cookie != c->cookie)
		return;
	c->doing = COORD_ACT_NONE;
	if (action == COORD_ACT_ABORT || action == COORD_ACT_KILL) {
		coord_node_aborted(c, event->error);
		return;
	}
	if (event->error) {
		coord_node_fail(c, event->reason ? event->reason : COORD_WHY_FAILED,
				event->error, &event->wait);
		return;
	}
	c->level = c->begun;
	if (action == COORD_ACT_THAW || action == COORD_ACT_GO)
		c->guard_at = 0;
	if (action == COORD_ACT_GO)
		c->run = c->id;
}

/* ----------------------------------------------------------------- orders */

/*
 * An order of another operation than the last came: take part in it if this node may.
 * Return: false: not (yet); the order is dropped, and the root repeats it
 */
static bool coord_node_enter(struct coord *c, enum coord_order order, struct coord_id id)
{
	if (id.attempt < c->id.attempt || c->aborting)
		return false;
	if (id_is(c->id) && !coord_node_has_ended(c) && has_begun(c) && !in_doubt(c)) {
		/* nobody waits for the old operation any more; the new order will be repeated */
		abort_here(c);
		return false;
	}
	/*
	 * An operation begins only when the one before is decided everywhere: if this node is
	 * still prepared for an earlier one, that one was not committed.
	 */
	if (c->want.prepared.attempt < id.attempt)
		c->want.prepared = (struct coord_id){ 0 };
	c->id = id;
	c->order = COORD_ORDER_NONE;
	c->level = COORD_IDLE;
	c->begun = COORD_IDLE;
	c->reason = COORD_WHY_NONE;
	c->error = 0;
	c->guard_at = 0;
	c->restart = order >= COORD_ORDER_PLACE && order <= COORD_ORDER_LIVE;
	if (id.generation > c->generation)
		c->generation = id.generation;
	if (id_equal(c->want.committed, id))
		c->level = COORD_COMMITTED;
	else if (id_equal(c->want.prepared, id))
		c->level = COORD_DURABLE;
	else if (id_is(id) && id_equal(c->run, id))
		c->level = id_equal(c->want.live, id) ? COORD_LIVE : COORD_RUNNING;
	else if (order == COORD_ORDER_LIVE)
		/* the ranks ran and have been lost since: the restart stands all the same */
		c->level = COORD_RUNNING;
	coord_targets_clear(c);
	coord_channels_clear(c);
	coord_tree_forget(c);
	return true;
}

/* This node was prepared when its daemon ended; the root has told the decision. */
void coord_node_resolve(struct coord *c, enum coord_order order, struct coord_id id)
{
	if (!id_equal(c->want.prepared, id))
		return;
	if (order == COORD_ORDER_COMMIT)
		want_committed(c, id);
	else
		c->want.prepared = (struct coord_id){ 0 };
	coord_persist(c);
}

static void obey_abort(struct coord *c)
{
	c->guard_at = 0;
	c->reason = COORD_WHY_NONE;
	if (id_equal(c->want.prepared, c->id))
		c->want.prepared = (struct coord_id){ 0 };
	coord_persist(c);
	if (c->aborting)
		return;
	if (has_begun(c))
		abort_here(c);
	else
		c->level = COORD_ABORTED;
}

void coord_node_take(struct coord *c, enum coord_order order, struct coord_id id,
		     uint32_t limit_ms, enum coord_reason reason)
{
	bool first = order == COORD_ORDER_QUIESCE || order == COORD_ORDER_PLACE;
	bool same = id_equal(id, c->id);

	if (!same && !coord_node_enter(c, order, id))
		return;
	if (order <= c->order) {
		coord_tree_report(c, true);
		return;
	}
	c->order = order;
	/* this node as a whole is waited for, until the glue names a rank */
	c->wait = (struct coord_wait){ c->config.self, COORD_NONE, COORD_NONE, 0,
				       COORD_WHY_TIMEOUT, 0, 0 };
	c->limit_ms = limit_ms;
	c->abort_reason = reason;
	if (order == COORD_ORDER_ABORT)
		obey_abort(c);
	else if (!c->reason && c->level < coord_level_before(c->config.table, order))
		coord_node_fail(c, COORD_WHY_LOST, -ESTALE, NULL);
	else if (limit_ms && (first || c->restart))
		c->guard_at = c->now + 2ull * limit_ms * COORD_MS;
	/* children first, so that they work at the same time as this node */
	coord_tree_forward(c, false);
	coord_node_pump(c);
}

/* ----------------------------------------------------------------- report */

static unsigned int reported_level(const struct coord *c)
{
	if (c->order == COORD_ORDER_ANSWER)
		return coord_is_persisted(c) && !c->aborting ? COORD_ANSWERED : COORD_IDLE;
	if (c->level == COORD_CAUGHT_UP && c->order == COORD_ORDER_CATCH_UP &&
	    !coord_targets_settled(c))
		return COORD_QUIESCED;
	/* a late announcement: this node was drained, and is no more */
	if (c->level == COORD_DRAINED && c->order == COORD_ORDER_DRAIN &&
	    !coord_channels_drained(c))
		return COORD_CAUGHT_UP;
	return c->level;
}

void coord_node_report(const struct coord *c, struct coord_report *ret_report)
{
	struct coord_report *r = ret_report;

	memset(r, 0, sizeof(*r));
	r->level = (uint8_t)reported_level(c);
	r->order = c->order;
	if (c->order != COORD_ORDER_ABORT && c->order != COORD_ORDER_ANSWER) {
		r->reason = (uint16_t)c->reason;
		r->error = c->error;
	}
	r->wait.node = COORD_NONE;
	if (r->reason)
		r->wait = c->fault;
	else if (!coord_tree_reached(c, r))
		r->wait = c->wait;
	else
		r->nodes = 1;
	r->sum_min = c->sum;
	r->sum_max = c->sum;
	if (c->order == COORD_ORDER_DRAIN) {
		r->announced = c->nr_out;
		r->received = c->nr_in;
	}
	r->committed = c->disk.committed;
	r->committed_min = c->disk.committed;
	r->prepared = c->disk.prepared;
	r->live_min = c->disk.live;
	r->live = c->disk.live;
	r->run_min = c->run;
	r->run_max = c->run;
	r->generation = c->generation;
}
