// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must hold: after every step, at every outcome, and when it is quiet again.
 *
 * The first violation ends the run and is its result; the rest of a broken run
 * says nothing.
 */
#include "tests/sim/sim.h"

#include <string.h>

void check_fail(struct world *w, const char *format, ...)
{
	va_list ap;

	if (w->failed)
		return;
	w->failed = true;
	va_start(ap, format);
	vsnprintf(w->why, sizeof(w->why), format, ap);
	va_end(ap);
	world_trace(w, "VIOLATION: %s", w->why);
}

static bool same(struct coord_id a, struct coord_id b)
{
	return a.attempt == b.attempt && a.generation == b.generation;
}

struct outcome *check_of(struct world *w, struct coord_id id)
{
	unsigned int i;

	for (i = 0; i < w->nr_outcomes; i++) {
		if (same(w->outcomes[i].id, id))
			return &w->outcomes[i];
	}
	if (w->nr_outcomes == OUTCOMES) {
		check_fail(w, "too many generations for this simulator");
		return &w->outcomes[0];
	}
	memset(&w->outcomes[w->nr_outcomes], 0, sizeof(w->outcomes[0]));
	w->outcomes[w->nr_outcomes].id = id;
	return &w->outcomes[w->nr_outcomes++];
}

/* No rank stands still for longer than the pause, and the time to let it go. */
void check_always(struct world *w)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		const struct node *node = &w->nodes[n];

		if (node->frozen && w->now > node->frozen_at + 300 * MS + 10 * MS)
			check_fail(w, "ranks of n%u are frozen for too long", n);
	}
}

/* No rank of the job may run anywhere in another life of it. */
void check_go(struct world *w, uint32_t n, struct coord_id id)
{
	uint32_t other;

	for (other = 0; other < w->nr_nodes; other++) {
		const struct node *node = &w->nodes[other];

		if (node->power && node->run.attempt && !same(node->run, id))
			check_fail(w, "n%u lets ranks go while those of n%u run in another life",
				   n, other);
	}
}

/* One cut through all programs: nothing in flight, nobody in a collective. */
static void check_cut(struct world *w, struct coord_id id)
{
	const struct rank *cut[MAX_RANKS] = { NULL };
	uint32_t used[64] = { 0 };
	uint32_t r, s, comm;

	for (r = 0; r < w->nr_ranks; r++) {
		struct image *image = local_image(&w->nodes[w->node_of[r]], id);

		if (!image)
			return;
		if (image->inside)
			check_fail(w, "a rank of n%u was captured in a collective", w->node_of[r]);
		cut[r] = &image->ranks[used[w->node_of[r]]++];
	}
	for (r = 0; r < w->nr_ranks; r++) {
		for (s = 0; s < w->nr_ranks; s++) {
			if (cut[r]->sent[s] != cut[s]->arrived[r])
				check_fail(w,
					   "a message from rank %u to rank %u is lost or doubled",
					   r, s);
		}
	}
	for (comm = 0; comm < w->nr_comms; comm++) {
		uint64_t seq = 0;

		for (r = 0; r < w->nr_ranks; r++) {
			if (!(w->members[comm] >> r & 1))
				continue;
			if (seq && cut[r]->seq[comm] != seq)
				check_fail(w, "collectives of communicator %u differ", comm);
			seq = cut[r]->seq[comm];
		}
	}
}

static void check_complete(struct world *w, struct coord_id id)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		struct node *node = &w->nodes[n];
		bool record = same(node->disk.committed, id);

		if (!local_image(node, id))
			check_fail(w, "committed, but n%u has no image", n);
		if (!record && !node->declared)
			check_fail(w, "committed, but n%u has no record of it", n);
		if (!record && !same(node->disk.prepared, id))
			check_fail(w, "committed, but n%u never prepared it", n);
	}
}

static void check_running(struct world *w, struct coord_id id)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		if (!w->nodes[n].declared && !same(w->nodes[n].ran, id))
			check_fail(w, "said to run, but never went on n%u", n);
	}
}

void check_outcome(struct world *w, const struct coord_action *act)
{
	struct outcome *outcome = check_of(w, act->id);
	char text[160];

	coord_describe(text, sizeof(text), act->reason, &act->wait, NULL, NULL);
	world_trace(w, "OUTCOME of generation %llu: %s%s%s",
		    (unsigned long long)act->id.generation, coord_level_name(act->level),
		    act->reason ? ", " : "", act->reason ? text : "");
	if (outcome->level && outcome->level != act->level)
		check_fail(w, "generation has two outcomes: %s and %s",
			   coord_level_name(outcome->level), coord_level_name(act->level));
	if (outcome->level)
		return;
	outcome->level = act->level;
	if (act->level == COORD_COMMITTED) {
		w->committed++;
		check_complete(w, act->id);
		if (w->programs)
			check_cut(w, act->id);
		if (outcome->first_snapshot < outcome->last_freeze)
			check_fail(w, "a node was captured before all were frozen");
		if (outcome->first_resume && outcome->first_resume < outcome->last_snapshot)
			check_fail(w, "ranks ran before all were captured");
	} else if (act->level == COORD_LIVE) {
		w->running++;
		check_running(w, act->id);
	} else {
		w->aborted++;
	}
}

/* ------------------------------------------------------------------ end */

bool check_is_quiet(const struct world *w)
{
	uint32_t n;

	for (n = 0; n < w->nr_nodes; n++) {
		const struct node *node = &w->nodes[n];

		if (!node->power)
			continue;
		if (!node->up || !coord_is_idle(node->coord) || node->frozen || node->intent)
			return false;
	}
	return true;
}

static void check_records(struct world *w, uint32_t n)
{
	const struct node *node = &w->nodes[n];
	const struct outcome *outcome;

	if (!node->disk.committed.attempt)
		return;
	outcome = check_of(w, node->disk.committed);
	if (outcome->level == COORD_ABORTED)
		check_fail(w, "n%u keeps a record of a generation that was aborted", n);
}

static void check_ranks(struct world *w, uint32_t n)
{
	const struct node *node = &w->nodes[n];

	if (node->frozen || node->intent || node->closed)
		check_fail(w, "ranks of n%u do not run", n);
	if (node->created.attempt)
		check_fail(w, "n%u keeps ranks that a restart made and nobody lets go", n);
}

/* Said to be committed, and still there in the end. */
static void check_kept(struct world *w)
{
	struct coord_id last = { 0 };
	unsigned int i;
	uint32_t n;

	for (i = 0; i < w->nr_outcomes; i++) {
		if (w->outcomes[i].level == COORD_COMMITTED &&
		    w->outcomes[i].id.attempt > last.attempt)
			last = w->outcomes[i].id;
	}
	for (n = 0; last.attempt && n < w->nr_nodes; n++) {
		struct node *node = &w->nodes[n];

		if (node->power && node->disk.committed.attempt < last.attempt)
			check_fail(w, "n%u has lost the record of what was committed", n);
		if (!local_image(node, last))
			check_fail(w, "n%u has lost the image of what was committed", n);
	}
}

void check_end(struct world *w)
{
	uint32_t n;

	if (!check_is_quiet(w)) {
		for (n = 0; n < w->nr_nodes; n++) {
			if (w->nodes[n].power && (!w->nodes[n].up ||
						  !coord_is_idle(w->nodes[n].coord)))
				break;
		}
		check_fail(w, "it never ends: n%u, order %s", n < w->nr_nodes ? n : 0,
			   n < w->nr_nodes && w->nodes[n].up ?
			   coord_order_name(coord_order(w->nodes[n].coord)) : "-");
		return;
	}
	for (n = 0; n < w->nr_nodes; n++) {
		if (!w->nodes[n].power)
			continue;
		check_records(w, n);
		check_ranks(w, n);
	}
	check_kept(w);
}
