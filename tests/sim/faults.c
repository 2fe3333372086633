// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes wrong in a run, and when: a plan made from the seed.
 *
 * Faults last FAULTS; then everything heals: the network is whole, daemons are up,
 * and a node without power either comes back or has been declared dead.  A node is declared
 * dead only when its power is off, and told so when it comes back: that is what
 * fencing is for.  Silence is never a reason.
 */
#include "tests/sim/sim.h"

#include <string.h>

#define FAULTS (8 * SEC)

enum fault {
	FAULT_CRASH,		/* of the daemon */
	FAULT_POWER,		/* of the node; declared dead, back or not */
	FAULT_REBOOT,		/* of the node, without anybody declaring anything */
	FAULT_PART,
	FAULT_WHOLE,
	FAULT_LOSS,
	FAULT_CLEAR,
	FAULT_DISK,
	FAULT_DISK_GOOD,
	FAULT_SLOW,
	FAULT_FAST,
	FAULT_STUCK,		/* a rank that computes */
	FAULT_EXIT,		/* a rank ends */
	LATER_DECLARE,
	LATER_ON,
};

static void plan_fault(struct world *w, uint64_t at, enum fault fault, uint32_t node)
{
	world_plan(w, at, (struct item){ .event = SIM_FAULT, .a = fault, .node = node });
}

static void plan_request(struct world *w, uint64_t at, enum coord_request request)
{
	world_plan(w, at, (struct item){ .event = SIM_REQUEST, .a = request,
					 .node = COORD_NONE });
}

static void plan_requests(struct world *w)
{
	enum coord_request first = w->restart ? COORD_RESTART : COORD_CHECKPOINT;
	uint64_t at = 100 * MS;

	while (at < FAULTS) {
		plan_request(w, at, first);
		if (world_chance(w, 100))
			plan_request(w, at + world_random(w, 500 * MS), COORD_ABORT);
		if (world_chance(w, 200))
			plan_request(w, at + world_random(w, 500 * MS), COORD_CHECKPOINT);
		at += 200 * MS + world_random(w, 1500 * MS);
	}
}

void faults_plan(struct world *w)
{
	uint32_t i, nr = (uint32_t)world_random(w, 7);

	if (!w->options.faults)
		return;
	plan_requests(w);
	w->crash_rate = world_chance(w, 600) ? (uint32_t)world_random(w, 60) : 0;
	w->late = world_chance(w, 500) ? 20 : 0;
	if (world_chance(w, 600)) {
		w->aim_action = 1 + (uint32_t)world_random(w, COORD_ACT_SEND);
		if (world_chance(w, 500))
			w->aim_action = COORD_ACT_SEND;
		w->aim_order = 1 + (uint32_t)world_random(w, COORD_ORDER_ABORT);
		w->aim_abort = world_chance(w, 500);
	}
	for (i = 0; i < nr; i++) {
		uint64_t at = 50 * MS + world_random(w, FAULTS - SEC);
		uint64_t until = at + world_random(w, 3 * SEC);
		uint32_t node = (uint32_t)world_random(w, w->nr_nodes);

		switch (world_random(w, 9)) {
		case 0:
			plan_fault(w, at, FAULT_CRASH, node);
			break;
		case 1:
			plan_fault(w, at, FAULT_POWER, node);
			break;
		case 2:
			plan_fault(w, at, FAULT_REBOOT, node);
			break;
		case 3:
			plan_fault(w, at, FAULT_PART, node);
			plan_fault(w, until, FAULT_WHOLE, node);
			break;
		case 4:
			plan_fault(w, at, FAULT_LOSS, node);
			plan_fault(w, until, FAULT_CLEAR, node);
			break;
		case 5:
			plan_fault(w, at, FAULT_DISK, node);
			plan_fault(w, until, FAULT_DISK_GOOD, node);
			break;
		case 6:
			plan_fault(w, at, FAULT_SLOW, node);
			plan_fault(w, until, FAULT_FAST, node);
			break;
		case 7:
			plan_fault(w, at, FAULT_STUCK, node);
			break;
		default:
			plan_fault(w, at, FAULT_EXIT, node);
		}
	}
	world_plan(w, FAULTS, (struct item){ .event = SIM_HEAL });
}

static bool is_order(const struct coord_action *act)
{
	return act->kind == COORD_ACT_SEND && act->msg.kind == COORD_MSG_ORDER;
}

/* As the options say: once, at an action or an order. */
static bool dies_here(struct world *w, uint32_t node, const struct coord_action *act)
{
	const char *name = is_order(act) ? coord_order_name(act->msg.order.order) :
			   coord_action_name(act->kind);

	if (!w->options.die_at || w->died || node != w->options.die_node ||
	    strcmp(name, w->options.die_at))
		return false;
	w->died = true;
	return true;
}

/* Somebody wants to abort, just when the order that the seed aims at was given. */
void faults_provoke(struct world *w, const struct coord_action *act)
{
	if (w->options.faults && !w->calm && w->aim_abort && is_order(act) &&
	    act->msg.order.order == w->aim_order && world_chance(w, 100))
		plan_request(w, world_random(w, 6 * MS), COORD_ABORT);
}

/* Anywhere now and then; often at the one action or order that the seed aims at. */
bool faults_crash_here(struct world *w, uint32_t node, const struct coord_action *act)
{
	bool aimed = act->kind == w->aim_action;

	if (dies_here(w, node, act))
		return true;
	if (w->calm || !w->options.faults)
		return false;
	if (w->aim_action == COORD_ACT_SEND)
		aimed = is_order(act) && act->msg.order.order == w->aim_order;
	if (aimed && world_chance(w, 100))
		return true;
	return w->crash_rate && world_random(w, 10000) < w->crash_rate;
}

static void tell_dead(struct world *w, uint32_t n, uint32_t dead)
{
	world_plan(w, world_random(w, SEC),
		   (struct item){ .event = SIM_DEAD, .node = n, .b = dead });
}

/* A statement of death lasts: a daemon hears of it again when it starts. */
void faults_remind(struct world *w, uint32_t node)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		if (w->nodes[n].declared && n != node)
			tell_dead(w, node, n);
	}
}

/* Everybody is told, each at a time of his own, and only while his daemon is up. */
void faults_declare(struct world *w, uint32_t dead)
{
	uint32_t n;

	if (w->nodes[dead].declared)
		return;
	w->nodes[dead].declared = true;
	world_trace(w, "n%u is declared dead", dead);
	for (n = 0; n < w->nr_nodes; n++) {
		if (n != dead)
			tell_dead(w, n, dead);
	}
}

static void power_off(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];

	world_trace(w, "n%u power off", n);
	node->power = false;
	world_crash(w, n);
	node->run = (struct coord_id){ 0 };
}

static uint32_t nr_powered(const struct world *w)
{
	uint32_t n, nr = 0;

	for (n = 0; n < w->nr_nodes; n++)
		nr += w->nodes[n].power && !w->nodes[n].declared;
	return nr;
}

static void power_on(struct world *w, uint32_t n)
{
	w->nodes[n].power = true;
	world_start(w, n);
}

static void lose_power(struct world *w, uint32_t n, bool declare)
{
	uint64_t back = 200 * MS + world_random(w, 4 * SEC);

	if (!w->nodes[n].power || nr_powered(w) < 2)
		return;
	power_off(w, n);
	if (declare) {
		plan_fault(w, world_random(w, SEC), LATER_DECLARE, n);
		back += SEC;
		w->nodes[n].off_for_good = world_chance(w, 500);
	}
	if (!w->nodes[n].off_for_good)
		plan_fault(w, back, LATER_ON, n);
}

static void rank_exits(struct world *w, uint32_t n)
{
	struct coord_event event = { .kind = COORD_EV_FAILED, .error = -3,
				     .reason = COORD_WHY_EXITED };

	event.wait = (struct coord_wait){ n, n * w->per_node, COORD_NONE, 0,
					  COORD_WHY_EXITED, 0, 0 };
	world_feed(w, n, &event);
}

void faults_happen(struct world *w, const struct item *item)
{
	struct coord_event event = { .kind = COORD_EV_DEAD, .node = item->b };
	uint32_t n = item->node;
	struct node *node = &w->nodes[n];

	if (item->event == SIM_DEAD) {
		if (node->up)
			world_feed(w, n, &event);
		return;
	}
	switch (item->a) {
	case FAULT_CRASH:
		world_crash(w, n);
		break;
	case FAULT_POWER:
	case FAULT_REBOOT:
		lose_power(w, n, item->a == FAULT_POWER);
		break;
	case LATER_DECLARE:
		faults_declare(w, n);
		break;
	case LATER_ON:
		power_on(w, n);
		break;
	case FAULT_PART:
		w->side = world_random(w, 0);
		w->parted = true;
		world_trace(w, "network is parted");
		break;
	case FAULT_WHOLE:
		w->parted = false;
		world_trace(w, "network is whole");
		break;
	case FAULT_LOSS:
		w->drop = (uint32_t)world_random(w, 300);
		w->twice = 100;
		w->late = 50;
		break;
	case FAULT_CLEAR:
		w->drop = w->twice = w->late = 0;
		break;
	case FAULT_DISK:
	case FAULT_DISK_GOOD:
		node->bad_disk = item->a == FAULT_DISK;
		break;
	case FAULT_SLOW:
	case FAULT_FAST:
		node->slow = item->a == FAULT_SLOW ? 40 : 1;
		break;
	case FAULT_STUCK:
		if (w->programs)
			w->ranks[n * w->per_node].stuck_until = w->now + 4 * SEC;
		break;
	case FAULT_EXIT:
		rank_exits(w, n);
		break;
	}
}

void faults_heal(struct world *w)
{
	uint32_t n;

	world_trace(w, "faults are over");
	w->calm = true;
	w->parted = false;
	w->drop = w->twice = w->late = 0;
	for (n = 0; n < w->nr_nodes; n++) {
		struct node *node = &w->nodes[n];

		node->bad_disk = false;
		node->slow = 1;
		if (w->programs)
			w->ranks[n * w->per_node].stuck_until = 0;
		if (!node->power && node->off_for_good)
			faults_declare(w, n);
		else if (!node->power && !node->declared)
			power_on(w, n);
		else if (!node->up)
			world_in(w, MS, SIM_START, n);
	}
}
