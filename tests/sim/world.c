// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time, network, and daemons that start and end.
 *
 * Owns the queue: what happens at the same time happens in the order it was planned, so a
 * run is a function of its options.  Nothing here knows what a message means.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64 */
uint64_t world_random(struct world *w, uint64_t below)
{
	uint64_t z = (w->random += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return below ? z % below : z;
}

bool world_chance(struct world *w, uint32_t per_1000)
{
	return world_random(w, 1000) < per_1000;
}

void world_trace(struct world *w, const char *format, ...)
{
	va_list ap;

	if (!w->options.trace)
		return;
	printf("%10.6f ", (double)w->now / 1e9);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

/* ------------------------------------------------------------------ queue */

static bool before(const struct item *a, const struct item *b)
{
	return a->at < b->at || (a->at == b->at && a->serial < b->serial);
}

static void swap(struct item *a, struct item *b)
{
	struct item t = *a;

	*a = *b;
	*b = t;
}

static void push(struct world *w, const struct item *item)
{
	size_t i = w->nr_heap++;

	if (w->nr_heap > w->size_heap) {
		w->size_heap = w->size_heap ? 2 * w->size_heap : 1024;
		w->heap = realloc(w->heap, w->size_heap * sizeof(*w->heap));
		if (!w->heap)
			abort();
	}
	w->heap[i] = *item;
	for (; i && before(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&w->heap[i], &w->heap[(i - 1) / 2]);
}

static struct item pop(struct world *w)
{
	struct item first = w->heap[0];
	size_t i = 0, child;

	w->heap[0] = w->heap[--w->nr_heap];
	while ((child = 2 * i + 1) < w->nr_heap) {
		if (child + 1 < w->nr_heap && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!before(&w->heap[child], &w->heap[i]))
			break;
		swap(&w->heap[i], &w->heap[child]);
		i = child;
	}
	return first;
}

static void plan(struct world *w, uint64_t delay, struct item *item)
{
	item->at = w->now + delay;
	item->serial = ++w->serial;
	push(w, item);
}

/* ---------------------------------------------------------------- network */

static bool is_cut(const struct world *w, uint32_t a, uint32_t b)
{
	return w->parted && (w->side >> (a % 64) & 1) != (w->side >> (b % 64) & 1);
}

static void deliver(struct world *w, uint32_t to, const struct coord_msg *msg)
{
	struct item item = { .event = SIM_MSG, .node = to };
	uint64_t delay = 100000 + world_random(w, 400000);

	item.msg = malloc(sizeof(*msg));
	if (!item.msg)
		abort();
	*item.msg = *msg;
	if (world_chance(w, w->late))
		delay += world_random(w, 3 * SEC);
	plan(w, delay, &item);
}

static void send(struct world *w, uint32_t from, uint32_t to, const struct coord_msg *msg)
{
	w->messages[msg->kind]++;
	w->bytes += coord_msg_size(msg);
	if (msg->kind == COORD_MSG_ORDER)
		world_trace(w, "n%u -> n%u ORDER %s", from, to, coord_order_name(msg->order.order));
	else if (msg->kind == COORD_MSG_REPORT)
		world_trace(w, "n%u -> n%u REPORT %s%s%s", from, to,
			    coord_level_name(msg->report.level),
			    msg->report.reason ? " failed: " : "",
			    msg->report.reason ? coord_reason_text(msg->report.reason) : "");
	else
		world_trace(w, "n%u -> n%u %s", from, to, coord_msg_name(msg->kind));
	if (is_cut(w, from, to) || world_chance(w, w->drop))
		return;
	deliver(w, to, msg);
	if (world_chance(w, w->twice))
		deliver(w, to, msg);
}

/* ------------------------------------------------------------ coordinators */

static void act_all(struct world *w, uint32_t n, const struct coord_action *acts, size_t nr)
{
	struct node *node = &w->nodes[n];
	uint32_t life = node->life;
	struct item item;
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct coord_action *act = &acts[i];

		if (faults_crash_here(w, n, act)) {
			world_crash(w, n);
			return;
		}
		switch (act->kind) {
		case COORD_ACT_SEND:
			send(w, n, act->node, &act->msg);
			faults_provoke(w, act);
			break;
		case COORD_ACT_WAKE:
			item = (struct item){ .event = SIM_TIME, .node = n, .life = life,
					      .a = ++node->wake };
			plan(w, act->at > w->now ? act->at - w->now : 0, &item);
			break;
		case COORD_ACT_OUTCOME:
			check_outcome(w, act);
			break;
		case COORD_ACT_REPLY:
			w->replies++;
			world_trace(w, "n%u REPLY %d: %s", n, act->error,
				    coord_reason_text(act->reason));
			break;
		default:
			local_act(w, n, act);
		}
		if (node->life != life || !node->up)
			return;
	}
}

void world_feed(struct world *w, uint32_t n, struct coord_event *event)
{
	struct node *node = &w->nodes[n];
	const struct coord_action *acts;
	struct coord_action *copy;
	size_t nr;

	if (!node->up || w->failed)
		return;
	event->now = w->now;
	nr = coord_step(node->coord, event, &acts);
	if (!nr)
		return;
	/* performing them may step this coordinator again */
	copy = malloc(nr * sizeof(*copy));
	if (!copy)
		abort();
	memcpy(copy, acts, nr * sizeof(*copy));
	act_all(w, n, copy, nr);
	free(copy);
}

static void config_of(const struct world *w, uint32_t n, struct coord_config *config)
{
	const struct node *node = &w->nodes[n];

	*config = (struct coord_config){
		.self = n,
		.nr_nodes = w->nr_nodes,
		.arity = w->options.arity,
		.incarnation = node->incarnation,
		.expelled = node->declared,
		.run = node->run,
		.limits = { .retry = 50, .retry_max = 400, .quiesce = 2000, .pause = 300,
			    .dump = 5000, .restart = 3000 },
		.max_comms = 64,
		.max_channels = 512,
		.nr_ranks = w->nr_ranks,
		.node_of = w->node_of,
		.table = w->options.table,
	};
}

void world_start(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];
	struct coord_event event = { .kind = COORD_EV_START };
	struct coord_config config;

	if (node->up || !node->power)
		return;
	node->life++;
	node->incarnation++;
	config_of(w, n, &config);
	node->memory = malloc(coord_size(&config));
	if (!node->memory || coord_create(node->memory, &config, &node->disk, &node->coord))
		abort();
	node->up = true;
	node->local = 0;
	node->catching = false;
	world_trace(w, "n%u starts%s", n, node->declared ? ", having been declared dead" : "");
	world_feed(w, n, &event);
	faults_remind(w, n);
}

/* The daemon ends: the kernel lets go what it held, and the shim has ranks run on. */
void world_crash(struct world *w, uint32_t n)
{
	struct node *node = &w->nodes[n];

	if (!node->up)
		return;
	world_trace(w, "n%u daemon dies", n);
	node->up = false;
	node->life++;
	node->frozen = false;
	node->snapshot.id = (struct coord_id){ 0 };
	node->created = (struct coord_id){ 0 };
	if (node->persisting && world_chance(w, 500))
		node->disk = node->persist;
	node->persisting = false;
	free(node->memory);
	node->memory = NULL;
	node->coord = NULL;
	ranks_run_on(w, n);
	if (node->power)
		world_in(w, 20 * MS + world_random(w, 3 * SEC), SIM_START, n);
}

uint32_t world_root(const struct world *w)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		if (!w->nodes[n].declared)
			return n;
	}
	return 0;
}

/* -------------------------------------------------------------------- run */

void world_plan(struct world *w, uint64_t delay, struct item item)
{
	plan(w, delay, &item);
}

void world_in(struct world *w, uint64_t delay, enum sim_event event, uint32_t node)
{
	world_plan(w, delay, (struct item){ .event = event, .node = node,
					    .life = w->nodes[node].life });
}

static void request(struct world *w, const struct item *item)
{
	struct coord_event event = {
		.kind = COORD_EV_REQUEST, .request = item->a, .ticket = item->serial,
		.generation = 1,
	};
	uint32_t n;

	/* to whoever is the root, if it answers */
	n = item->node == COORD_NONE ? world_root(w) : item->node;
	if (!w->nodes[n].up)
		return;
	world_trace(w, "n%u REQUEST %s", n, item->a == COORD_CHECKPOINT ? "checkpoint" :
		    item->a == COORD_RESTART ? "restart" : "abort");
	w->request_at = w->now;
	world_feed(w, n, &event);
}

static void happen(struct world *w, struct item *item)
{
	struct node *node = &w->nodes[item->node == COORD_NONE ? 0 : item->node];
	struct coord_event event = { 0 };

	switch (item->event) {
	case SIM_MSG:
		event.kind = COORD_EV_MSG;
		event.msg = item->msg;
		world_feed(w, item->node, &event);
		free(item->msg);
		break;
	case SIM_TIME:
		event.kind = COORD_EV_TIME;
		if (item->life == node->life && item->a == node->wake)
			world_feed(w, item->node, &event);
		break;
	case SIM_DONE:
		local_done(w, item);
		break;
	case SIM_RANK:
		ranks_step(w, item);
		break;
	case SIM_LEAVE:
		ranks_leave(w, item);
		break;
	case SIM_ARRIVE:
		ranks_arrive(w, item);
		break;
	case SIM_LIGHT:
		ranks_light(w, item);
		break;
	case SIM_CLOSE:
		ranks_close(w, item);
		break;
	case SIM_RECEIVED:
		ranks_received(w, item);
		break;
	case SIM_START:
		world_start(w, item->node);
		break;
	case SIM_CRASH:
		world_crash(w, item->node);
		break;
	case SIM_FAULT:
	case SIM_DEAD:
		faults_happen(w, item);
		break;
	case SIM_HEAL:
		faults_heal(w);
		break;
	case SIM_REQUEST:
		request(w, item);
		break;
	}
}

void world_run(struct world *w, uint64_t until)
{
	while (w->nr_heap && !w->failed) {
		struct item item;

		if (w->heap[0].at > until)
			break;
		item = pop(w);
		w->now = item.at;
		happen(w, &item);
		if (!w->options.big)
			check_always(w);
	}
	if (w->now < until)
		w->now = until;
}

int world_init(struct world *w, const struct options *options)
{
	uint32_t n;

	memset(w, 0, sizeof(*w));
	w->options = *options;
	w->random = options->seed * 0x2545f4914f6cdd1dull + 1;
	w->nr_nodes = options->nodes ? options->nodes : 2 + (uint32_t)world_random(w, 6);
	w->per_node = options->ranks ? options->ranks : 1 + (uint32_t)world_random(w, 3);
	if (!w->options.arity)
		w->options.arity = 1 + (uint32_t)world_random(w, 3);
	w->nr_ranks = w->nr_nodes * w->per_node;
	w->restart = options->faults && options->seed % 4 == 3;
	/* larger ones have numbers only */
	w->programs = !options->big && !w->restart && w->nr_ranks <= MAX_RANKS &&
		      w->per_node <= MAX_PER_NODE;
	w->nodes = calloc(w->nr_nodes, sizeof(*w->nodes));
	w->node_of = calloc(w->nr_ranks, sizeof(*w->node_of));
	if (!w->nodes || !w->node_of ||
	    coord_place(w->nr_ranks, w->nr_nodes, NULL, w->node_of))
		return -ENOMEM;
	for (n = 0; n < w->nr_nodes; n++) {
		w->nodes[n].power = true;
		w->nodes[n].slow = 1;
		if (!w->restart)
			w->nodes[n].run = (struct coord_id){ 0, 1 };
		world_in(w, world_random(w, 5 * MS), SIM_START, n);
	}
	if (w->programs)
		ranks_init(w);
	return 0;
}

void world_free(struct world *w)
{
	uint32_t n;

	while (w->nr_heap) {
		struct item item = pop(w);

		if (item.event == SIM_MSG)
			free(item.msg);
	}
	for (n = 0; w->nodes && n < w->nr_nodes; n++)
		free(w->nodes[n].memory);
	free(w->nodes);
	free(w->node_of);
	free(w->heap);
}
