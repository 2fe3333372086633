// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a node daemon does when its coordinator says so, and what comes of it.
 *
 * An action takes time, may fail, and its effect is there when it is done.  ABORT and KILL
 * void what is under way.  Frozen ranks and snapshots belong to the daemon's open
 * device and go with it, and so does the intent; ranks, images and the record do not.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <string.h>

static uint64_t duration(struct world *w, const struct node *node, enum coord_action_kind kind)
{
	switch (kind) {
	case COORD_ACT_PERSIST:
		return MS + world_random(w, 5 * MS);
	case COORD_ACT_ABORT:
	case COORD_ACT_KILL:
		return MS + world_random(w, 5 * MS);
	case COORD_ACT_DUMP:
	case COORD_ACT_FETCH:
		return (20 * MS + world_random(w, 300 * MS)) * node->slow;
	default:
		return (MS + world_random(w, 8 * MS)) * node->slow;
	}
}

struct image *local_image(struct node *node, struct coord_id id)
{
	unsigned int i;

	for (i = 0; i < IMAGES; i++) {
		if (node->images[i].id.attempt == id.attempt &&
		    node->images[i].id.generation == id.generation)
			return &node->images[i];
	}
	return NULL;
}

void local_act(struct world *w, uint32_t n, const struct coord_action *act)
{
	struct node *node = &w->nodes[n];
	struct item item = { .event = SIM_DONE, .node = n, .life = node->life,
			     .a = act->kind, .b = act->cookie, .id = act->id };

	world_trace(w, "n%u %s", n, coord_action_name(act->kind));
	switch (act->kind) {
	case COORD_ACT_TARGET:
		ranks_wake(w, n);
		return;
	case COORD_ACT_CATCH_UP:
		node->catching = true;
		ranks_wake(w, n);
		ranks_check(w, n);
		return;
	case COORD_ACT_DRAIN:
		ranks_drain(w, n);
		return;
	case COORD_ACT_ABORT:
	case COORD_ACT_KILL:
		break;
	case COORD_ACT_PERSIST:
		node->persisting = true;
		node->persist = act->record;
		if (node->bad_disk)
			item.error = -EIO;
		break;
	default:
		if (!w->calm && w->options.faults && world_chance(w, 4))
			item.error = -EIO;
	}
	/* the one under way; an older one's effect is void */
	if (act->kind != COORD_ACT_PERSIST)
		node->local = act->cookie;
	world_plan(w, duration(w, node, act->kind), item);
}

/* Ranks run on: after THAW, and after ABORT. */
void local_resume(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];
	struct outcome *outcome = node->snapshot.id.attempt ?
				  check_of(w, node->snapshot.id) : NULL;

	if (outcome && (!outcome->first_resume || w->now < outcome->first_resume))
		outcome->first_resume = w->now;
	node->frozen = false;
	ranks_run_on(w, n);
}

static void snapshot(struct world *w, uint32_t n, struct coord_id id)
{
	struct node *node = &w->nodes[n];
	struct image *image = &node->snapshot;
	uint32_t r, i = 0;

	memset(image, 0, sizeof(*image));
	image->id = id;
	check_of(w, id)->last_snapshot = w->now;
	if (!check_of(w, id)->first_snapshot)
		check_of(w, id)->first_snapshot = w->now;
	for (r = 0; w->programs && r < w->nr_ranks; r++) {
		if (w->node_of[r] != n)
			continue;
		image->ranks[i++] = w->ranks[r];
		image->inside |= w->ranks[r].state == RANK_COLLECTIVE;
	}
}

static void dumped(struct node *node)
{
	struct image *oldest = &node->images[0];
	unsigned int i;

	for (i = 1; i < IMAGES; i++) {
		if (node->images[i].id.attempt < oldest->id.attempt)
			oldest = &node->images[i];
	}
	*oldest = node->snapshot;
	node->snapshot.id = (struct coord_id){ 0 };
}

static void undo(struct world *w, uint32_t n, struct coord_id id)
{
	struct node *node = &w->nodes[n];
	struct image *image = id.attempt ? local_image(node, id) : NULL;

	if (image)
		memset(image, 0, sizeof(*image));
	local_resume(w, n);
	memset(&node->snapshot, 0, sizeof(node->snapshot));
}

static void kill_ranks(struct node *node, struct coord_id id)
{
	node->created = (struct coord_id){ 0 };
	if (node->run.attempt == id.attempt)
		node->run = (struct coord_id){ 0 };
}

static int effect(struct world *w, uint32_t n, const struct item *item)
{
	struct node *node = &w->nodes[n];

	switch (item->a) {
	case COORD_ACT_QUIESCE:
		if (!node->run.attempt)
			return -ESRCH;
		node->intent = true;
		ranks_quiesced(w, n);
		break;
	case COORD_ACT_FREEZE:
		node->frozen = true;
		node->frozen_at = w->now;
		check_of(w, item->id)->last_freeze = w->now;
		break;
	case COORD_ACT_SNAPSHOT:
		snapshot(w, n, item->id);
		break;
	case COORD_ACT_THAW:
		local_resume(w, n);
		break;
	case COORD_ACT_DUMP:
		dumped(node);
		break;
	case COORD_ACT_PLACE:
		if (node->run.attempt)
			return -EBUSY;
		break;
	case COORD_ACT_CREATE:
		node->created = item->id;
		break;
	case COORD_ACT_GO:
		if (!node->created.attempt)
			return -ESRCH;
		check_go(w, n, item->id);
		node->run = item->id;
		node->ran = item->id;
		node->created = (struct coord_id){ 0 };
		break;
	case COORD_ACT_ABORT:
		undo(w, n, item->id);
		break;
	case COORD_ACT_KILL:
		kill_ranks(node, item->id);
		break;
	}
	return 0;
}

static int persisted(struct world *w, struct node *node, int error)
{
	node->persisting = false;
	/* a failed write may have come through all the same */
	if (!error || world_chance(w, 300))
		node->disk = node->persist;
	return error;
}

void local_done(struct world *w, const struct item *item)
{
	struct node *node = &w->nodes[item->node];
	struct coord_event event = { .kind = COORD_EV_DONE, .cookie = item->b,
				     .error = item->error };
	uint32_t life = node->life;

	if (item->life != node->life || !node->up)
		return;
	event.wait.node = COORD_NONE;
	event.wait.rank = COORD_NONE;
	event.wait.peer = COORD_NONE;
	if (item->a == COORD_ACT_PERSIST)
		event.error = persisted(w, node, item->error);
	else if (item->b != node->local)
		return;
	else if (!event.error)
		event.error = effect(w, item->node, item);
	if (node->life == life)
		world_feed(w, item->node, &event);
}
