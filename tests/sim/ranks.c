// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs: every rank goes through the same list of collectives and messages, of
 * which it does those that it is part of; and what the glue does with them.
 *
 * With the intent up, a rank stops before a collective unless it is behind
 * in some communicator; if it must pass one beyond its target, it raises the target.
 * When closed, it stops before a send, too, and what arrives is drained.  In the big
 * run there are no programs, only numbers of the same kind.
 */
#include "tests/sim/sim.h"

#include <string.h>

static bool is_member(const struct world *w, uint32_t rank, uint32_t comm)
{
	return w->members[comm] >> rank & 1;
}

static void in(struct world *w, uint64_t delay, enum sim_event event, uint32_t rank, uint32_t b)
{
	world_plan(w, delay, (struct item){ .event = event, .a = rank, .b = b });
}

void ranks_init(struct world *w)
{
	uint32_t i, r;

	w->nr_comms = 1 + (uint32_t)world_random(w, MAX_COMMS);
	w->members[0] = (1u << w->nr_ranks) - 1;
	for (i = 1; i < w->nr_comms; i++) {
		w->members[i] = (uint32_t)world_random(w, 1u << w->nr_ranks);
		w->members[i] |= 1u << world_random(w, w->nr_ranks);
		w->members[i] |= 1u << world_random(w, w->nr_ranks);
	}
	for (i = 0; i < PROGRAM; i++) {
		struct op *op = &w->program[i];

		op->collective = world_chance(w, 400);
		op->comm = (uint32_t)world_random(w, w->nr_comms);
		op->source = (uint32_t)world_random(w, w->nr_ranks);
		op->dest = (op->source + 1 + (uint32_t)world_random(w, w->nr_ranks - 1)) %
			   w->nr_ranks;
	}
	w->program[0].collective = true;
	for (r = 0; r < w->nr_ranks; r++)
		in(w, world_random(w, 10 * MS), SIM_RANK, r, 0);
}

static bool has_part(const struct world *w, uint32_t rank, const struct op *op)
{
	if (op->collective)
		return is_member(w, rank, op->comm);
	return op->source == rank || op->dest == rank;
}

static struct coord *coord_of(struct world *w, uint32_t rank)
{
	const struct node *node = &w->nodes[w->node_of[rank]];

	return node->up ? node->coord : NULL;
}

static bool is_behind(struct world *w, uint32_t rank)
{
	struct coord *c = coord_of(w, rank);
	uint32_t comm;

	for (comm = 0; c && comm < w->nr_comms; comm++) {
		if (is_member(w, rank, comm) &&
		    w->ranks[rank].seq[comm] < coord_target(c, comm + 1))
			return true;
	}
	return false;
}

static void compute(struct world *w, uint32_t rank)
{
	struct rank *r = &w->ranks[rank];

	r->state = RANK_COMPUTES;
	r->pos++;
	in(w, world_random(w, 4 * MS), SIM_RANK, rank, ++r->timer);
}

/* All members are in its seq-th collective: they leave. */
static void complete(struct world *w, uint32_t comm, uint64_t seq)
{
	uint32_t r;

	for (r = 0; r < w->nr_ranks; r++) {
		if (is_member(w, r, comm) && w->ranks[r].seq[comm] < seq)
			return;
	}
	for (r = 0; r < w->nr_ranks; r++) {
		if (is_member(w, r, comm) && w->ranks[r].state == RANK_COLLECTIVE &&
		    !w->ranks[r].leaving) {
			w->ranks[r].leaving = true;
			in(w, world_random(w, MS), SIM_LEAVE, r, w->ranks[r].timer);
		}
	}
}

static void enter(struct world *w, uint32_t rank, uint32_t comm)
{
	struct node *node = &w->nodes[w->node_of[rank]];
	struct rank *r = &w->ranks[rank];
	struct coord_event event = {
		.kind = COORD_EV_SEQ, .target = { comm + 1, r->seq[comm] + 1 },
	};

	r->seq[comm]++;
	r->state = RANK_COLLECTIVE;
	r->leaving = false;
	if (node->intent)
		world_feed(w, w->node_of[rank], &event);
	complete(w, comm, r->seq[comm]);
}

static void take(struct world *w, uint32_t rank, const struct op *op)
{
	struct rank *r = &w->ranks[rank];

	r->state = RANK_RECV;
	if (r->taken[op->source] < r->arrived[op->source]) {
		r->taken[op->source]++;
		compute(w, rank);
	}
}

/* A large message may come long after everybody is closed. */
static uint64_t transit(struct world *w)
{
	return world_random(w, world_chance(w, 50) ? 400 * MS : 3 * MS);
}

static void call(struct world *w, uint32_t rank, const struct op *op)
{
	const struct node *node = &w->nodes[w->node_of[rank]];
	struct rank *r = &w->ranks[rank];

	r->state = RANK_READY;
	if (op->collective) {
		if (!node->closed && (!node->intent || is_behind(w, rank)))
			enter(w, rank, op->comm);
		return;
	}
	if (op->source == rank) {
		if (node->closed)
			return;
		r->sent[op->dest]++;
		in(w, transit(w), SIM_ARRIVE, op->dest, rank);
		compute(w, rank);
		return;
	}
	take(w, rank, op);
}

static bool can_run(const struct world *w, uint32_t rank)
{
	const struct node *node = &w->nodes[w->node_of[rank]];

	return node->power && node->run.attempt && !node->frozen;
}

void ranks_step(struct world *w, const struct item *item)
{
	struct rank *r = &w->ranks[item->a];
	const struct op *op;

	if (item->b != r->timer || !can_run(w, item->a))
		return;
	if (r->state != RANK_COMPUTES && r->state != RANK_READY)
		return;
	if (w->now < r->stuck_until) {
		in(w, r->stuck_until - w->now, SIM_RANK, item->a, r->timer);
		return;
	}
	op = &w->program[r->pos % PROGRAM];
	while (!has_part(w, item->a, op))
		op = &w->program[++r->pos % PROGRAM];
	call(w, item->a, op);
	ranks_check(w, w->node_of[item->a]);
}

void ranks_leave(struct world *w, const struct item *item)
{
	struct rank *r = &w->ranks[item->a];

	if (item->b != r->timer || r->state != RANK_COLLECTIVE)
		return;
	compute(w, item->a);
	ranks_check(w, w->node_of[item->a]);
}

static void tell_received(struct world *w, uint32_t rank, uint32_t source)
{
	struct coord_event event = {
		.kind = COORD_EV_RECEIVED,
		.channel = { source, rank, w->ranks[rank].arrived[source] },
	};

	world_feed(w, w->node_of[rank], &event);
}

/* A message comes in; a drained one is received later, as if it came then. */
void ranks_arrive(struct world *w, const struct item *item)
{
	uint32_t rank = item->a, source = item->b;
	struct rank *r = &w->ranks[rank];
	struct node *node = &w->nodes[w->node_of[rank]];
	const struct op *op = &w->program[r->pos % PROGRAM];

	r->arrived[source]++;
	if (node->closed && node->up)
		tell_received(w, rank, source);
	if (r->state == RANK_RECV && can_run(w, rank) && !op->collective &&
	    op->source == source && r->taken[source] < r->arrived[source]) {
		r->taken[source]++;
		compute(w, rank);
	}
}

/* Held ranks look again: targets rose, or they may run on. */
void ranks_wake(struct world *w, uint32_t n)
{
	uint32_t rank;

	/* a target that concerns no rank here needs an answer, too */
	if (w->nodes[n].catching)
		world_plan(w, 2 * MS, (struct item){ .event = SIM_LIGHT, .node = n,
						     .life = w->nodes[n].life });
	if (!w->programs)
		return;
	for (rank = 0; rank < w->nr_ranks; rank++) {
		struct rank *r = &w->ranks[rank];

		if (w->node_of[rank] != n)
			continue;
		if (r->state == RANK_COMPUTES || r->state == RANK_READY)
			in(w, world_random(w, MS), SIM_RANK, rank, ++r->timer);
		else if (r->state == RANK_RECV && can_run(w, rank))
			take(w, rank, &w->program[r->pos % PROGRAM]);
	}
}

void ranks_run_on(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];

	node->intent = false;
	node->closed = false;
	node->catching = false;
	node->drain++;
	ranks_wake(w, n);
}

/* ------------------------------------------------------------------- glue */

void ranks_quiesced(struct world *w, uint32_t n)
{
	struct coord_event event = { .kind = COORD_EV_SEQ };
	uint32_t comm, r, top = w->programs ? w->nr_comms : 3;

	for (comm = 0; comm < top; comm++) {
		event.target.comm = comm + 1;
		event.target.seq = w->programs ? 0 : 1000 + world_random(w, 3);
		for (r = 0; w->programs && r < w->nr_ranks; r++) {
			if (w->node_of[r] == n && is_member(w, r, comm) &&
			    w->ranks[r].seq[comm] > event.target.seq)
				event.target.seq = w->ranks[r].seq[comm];
		}
		if (event.target.seq)
			world_feed(w, n, &event);
	}
}

static void caught_up(struct world *w, uint32_t n)
{
	struct coord_event event = { .kind = COORD_EV_CAUGHT_UP };

	event.sum = coord_sum(w->nodes[n].coord);
	world_feed(w, n, &event);
}

void ranks_light(struct world *w, const struct item *item)
{
	const struct node *node = &w->nodes[item->node];

	if (node->life != item->life || !node->up || !node->catching)
		return;
	if (w->programs)
		ranks_check(w, item->node);
	else
		caught_up(w, item->node);
}

void ranks_check(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];
	struct coord_event wait = { .kind = COORD_EV_WAIT };
	uint32_t rank;

	if (!node->up || !node->catching || !w->programs)
		return;
	for (rank = 0; rank < w->nr_ranks; rank++) {
		if (w->node_of[rank] != n ||
		    (w->ranks[rank].state != RANK_COLLECTIVE && !is_behind(w, rank)))
			continue;
		wait.wait = (struct coord_wait){ .rank = rank, .peer = COORD_NONE,
						 .call = w->ranks[rank].state,
						 .reason = COORD_WHY_TIMEOUT };
		world_feed(w, n, &wait);
		return;
	}
	caught_up(w, n);
}

static void drain_light(struct world *w, uint32_t n)
{
	static const uint32_t strides[] = { 1, 32, 1024, 4096 };
	uint32_t nr = w->options.big ? 4 : 1;
	struct coord_event event = { 0 };
	uint32_t i, r, other;

	for (i = 0; i < nr; i++) {
		for (r = n * w->per_node; r < (n + 1) * w->per_node; r++) {
			other = (r + strides[i]) % w->nr_ranks;
			event.kind = COORD_EV_SENT;
			event.channel = (struct coord_channel){ r, other, 7 };
			world_feed(w, n, &event);
			other = (r + w->nr_ranks - strides[i] % w->nr_ranks) % w->nr_ranks;
			event.kind = COORD_EV_RECEIVED;
			event.channel = (struct coord_channel){ other, r, 7 };
			world_feed(w, n, &event);
		}
	}
}

static void plan_drain(struct world *w, uint32_t n, enum sim_event event, uint32_t rank)
{
	world_plan(w, world_random(w, 5 * MS), (struct item){
			.event = event, .node = n, .life = w->nodes[n].life,
			.a = rank, .b = w->nodes[n].drain });
}

static bool is_draining(const struct world *w, const struct item *item)
{
	const struct node *node = &w->nodes[item->node];

	return node->up && node->life == item->life && node->drain == item->b;
}

static void tell_sent(struct world *w, uint32_t n)
{
	struct coord_event event = { .kind = COORD_EV_SENT };
	uint32_t r, other;

	for (other = 0; other < w->nr_ranks; other++) {
		for (r = 0; r < w->nr_ranks; r++) {
			if (w->node_of[r] != n || !w->ranks[r].sent[other])
				continue;
			event.channel.source = r;
			event.channel.dest = other;
			event.channel.count = w->ranks[r].sent[other];
			world_feed(w, n, &event);
		}
	}
}

/* All ranks of the node are held, which took its time. What they have received comes in pieces. */
void ranks_close(struct world *w, const struct item *item)
{
	struct node *node = &w->nodes[item->node];
	struct coord_event event = { .kind = COORD_EV_CLOSED };
	uint32_t r;

	if (!is_draining(w, item))
		return;
	node->closed = true;
	tell_sent(w, item->node);
	if (!is_draining(w, item))
		return;
	for (r = 0; r < w->nr_ranks; r++) {
		if (w->node_of[r] == item->node)
			plan_drain(w, item->node, SIM_RECEIVED, r);
	}
	world_feed(w, item->node, &event);
}

void ranks_received(struct world *w, const struct item *item)
{
	uint32_t other;

	for (other = 0; is_draining(w, item) && other < w->nr_ranks; other++) {
		if (w->ranks[item->a].arrived[other])
			tell_received(w, item->a, other);
	}
}

void ranks_drain(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];
	struct coord_event event = { .kind = COORD_EV_CLOSED };

	node->catching = false;
	node->drain++;
	if (w->programs) {
		plan_drain(w, n, SIM_CLOSE, 0);
		return;
	}
	node->closed = true;
	drain_light(w, n);
	if (node->up)
		world_feed(w, n, &event);
}
