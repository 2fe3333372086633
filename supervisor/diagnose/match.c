// SPDX-License-Identifier: GPL-2.0-only
/*
 * The graph of waits; see match.h.
 *
 * A node of the graph is a rank, or a collective that some rank is in. Edges lead from a rank to
 * its collective or its peer, and from a collective to the members that have not begun it. The
 * edges of a collective are not stored: one pass over the ranks finds them.
 */
#include "supervisor/diagnose/match.h"

#include <errno.h>
#include <stdlib.h>

struct match_coll {
	uint64_t comm, seq;
	unsigned int first;	/* entry of the first rank in it, in struct match_run.in */
	unsigned int nr;
};

struct match_run {
	const struct fact_rank *ranks;
	unsigned int nr;
	unsigned int *in;	/* indices of ranks in collectives, by collective and call */
	unsigned int nr_in;
	struct match_coll *coll;
	unsigned int nr_coll;
	bool *suspect;		/* by rank */
	struct match *out;
};

bool match_has_begun(const struct fact_rank *rank, uint64_t comm, uint64_t seq, bool *ret_member)
{
	unsigned int low = 0, high = rank->nr_begun;

	*ret_member = rank->doing == FACT_COLLECTIVE && rank->comm == comm;
	if (*ret_member && rank->seq >= seq)
		return true;
	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (rank->begun[mid].id == comm) {
			*ret_member = true;
			return rank->begun[mid].seq >= seq;
		}
		if (rank->begun[mid].id < comm)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}


static int match_order(const void *a, const void *b, void *arg)
{
	const struct match_run *run = arg;
	const struct fact_rank *x = &run->ranks[*(const unsigned int *)a];
	const struct fact_rank *y = &run->ranks[*(const unsigned int *)b];

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* List the collectives that ranks wait in. */
static int match_collectives(struct match_run *run)
{
	run->in = calloc(run->nr + 1, sizeof(*run->in));
	run->coll = calloc(run->nr + 1, sizeof(*run->coll));
	run->suspect = calloc(run->nr + 1, sizeof(*run->suspect));
	if (!run->in || !run->coll || !run->suspect)
		return -ENOMEM;
	for (unsigned int i = 0; i < run->nr; i++) {
		if (fact_is_blocked(&run->ranks[i]) && run->ranks[i].doing == FACT_COLLECTIVE)
			run->in[run->nr_in++] = i;
	}
	qsort_r(run->in, run->nr_in, sizeof(*run->in), match_order, run);
	for (unsigned int i = 0; i < run->nr_in; i++) {
		const struct fact_rank *rank = &run->ranks[run->in[i]];
		struct match_coll *last = run->nr_coll ? &run->coll[run->nr_coll - 1] : NULL;

		if (!last || last->comm != rank->comm || last->seq != rank->seq) {
			last = &run->coll[run->nr_coll++];
			*last = (struct match_coll){ rank->comm, rank->seq, i, 0 };
		}
		last->nr++;
	}
	return 0;
}

static const struct fact_rank *match_in(const struct match_run *run, unsigned int entry)
{
	return &run->ranks[run->in[entry]];
}

/* True if the rank is a member that the ranks in @coll wait for, or may be one. */
static bool match_is_missing(const struct match_coll *coll, const struct fact_rank *rank)
{
	bool member;

	/* of a rank that ended with its node's whole part, the page is gone, too */
	if (rank->life == FACT_SILENT || (rank->life == FACT_ENDED && !rank->nr_begun))
		return true;
	return !match_has_begun(rank, coll->comm, coll->seq, &member) && member;
}

static void match_suspect(struct match_run *run, unsigned int i)
{
	if (!run->suspect[i])
		run->out->nr_suspects++;
	run->suspect[i] = true;
}

/* Note how long @waiter has waited for a suspect; the first waiter and collective are kept. */
static void match_note(struct match_run *run, unsigned int waiter, const struct match_coll *coll)
{
	struct match *out = run->out;
	const struct fact_rank *rank = &run->ranks[waiter];

	if (rank->since_ms > out->waited_ms)
		out->waited_ms = rank->since_ms;
	if (out->kind != MATCH_NOTHING && (out->seq || !coll))
		return;
	out->kind = MATCH_MISSING;
	out->waiter = waiter;
	out->comm = coll ? coll->comm : rank->comm;
	out->seq = coll ? coll->seq : 0;
	out->call = rank->call;
}

/* ------------------------------------------------- calls that do not match */

/* The call of most of the ranks in @coll; the others are suspects. */
static void match_differing(struct match_run *run, const struct match_coll *coll)
{
	struct match *out = run->out;
	unsigned int best = 0, nr = 0;
	uint32_t call = 0;

	for (unsigned int i = coll->first; i < coll->first + coll->nr; i++) {
		nr = i > coll->first && match_in(run, i)->call == match_in(run, i - 1)->call ?
		     nr + 1 : 1;
		if (nr > best) {
			best = nr;
			call = match_in(run, i)->call;
		}
	}
	if (best == coll->nr)
		return;
	for (unsigned int i = coll->first; i < coll->first + coll->nr; i++) {
		if (match_in(run, i)->call != call)
			match_suspect(run, run->in[i]);
		else if (out->kind == MATCH_NOTHING)
			match_note(run, run->in[i], coll);
	}
	out->kind = MATCH_DIFFER;
}

/* --------------------------------------------------------- who is missing */

/* True for a rank that is in the collective, and is kept from going on there. */
static bool match_is_kept_in(const struct match_coll *coll, const struct fact_rank *rank)
{
	return rank->life == FACT_ALIVE && !rank->moved && rank->doing == FACT_COLLECTIVE &&
	       rank->comm == coll->comm && rank->seq == coll->seq && fact_is_kept(rank);
}

static void match_missing_of(struct match_run *run, const struct match_coll *coll)
{
	bool found = false;

	for (unsigned int i = 0; i < run->nr; i++) {
		if (fact_is_blocked(&run->ranks[i]) ||
		    (!match_is_missing(coll, &run->ranks[i]) &&
		     !match_is_kept_in(coll, &run->ranks[i])))
			continue;
		match_suspect(run, i);
		found = true;
	}
	for (unsigned int i = coll->first; found && i < coll->first + coll->nr; i++)
		match_note(run, run->in[i], coll);
}

static void match_missing_peers(struct match_run *run)
{
	for (unsigned int i = 0; i < run->nr; i++) {
		const struct fact_rank *rank = &run->ranks[i];

		if (!fact_is_blocked(rank) || rank->doing == FACT_COLLECTIVE ||
		    rank->peer >= run->nr || fact_is_blocked(&run->ranks[rank->peer]))
			continue;
		match_suspect(run, rank->peer);
		match_note(run, i, NULL);
	}
}

/* ---------------------------------------------------------------- circles */

static const struct match_coll *match_coll_of(const struct match_run *run,
					      const struct fact_rank *rank)
{
	unsigned int low = 0, high = run->nr_coll;

	while (low < high) {
		unsigned int mid = (low + high) / 2;
		const struct match_coll *coll = &run->coll[mid];

		if (coll->comm == rank->comm && coll->seq == rank->seq)
			return coll;
		if (coll->comm < rank->comm || (coll->comm == rank->comm && coll->seq < rank->seq))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* A rank that rank @i waits for; nr: nobody is known. */
static unsigned int match_next(const struct match_run *run, unsigned int i)
{
	const struct fact_rank *rank = &run->ranks[i];
	const struct match_coll *coll;
	unsigned int k = 0;

	if (rank->doing != FACT_COLLECTIVE)
		return rank->peer < run->nr ? rank->peer : run->nr;
	coll = match_coll_of(run, rank);
	while (coll && k < run->nr && !match_is_missing(coll, &run->ranks[k]))
		k++;
	return coll ? k : run->nr;
}

/* Follow the waits from rank @i on until one comes again; false: the way ends. */
static bool match_circle_from(struct match_run *run, unsigned int i, unsigned int *round,
			      unsigned int number)
{
	struct match *out = run->out;
	unsigned int start;

	while (i < run->nr && !round[i]) {
		round[i] = number;
		i = match_next(run, i);
	}
	if (i >= run->nr || round[i] != number)
		return false;
	start = i;
	out->kind = MATCH_CIRCLE;
	do {
		const struct fact_rank *rank = &run->ranks[i];

		out->suspects[out->nr_suspects++] = i;
		if (rank->since_ms > out->waited_ms)
			out->waited_ms = rank->since_ms;
		i = match_next(run, i);
	} while (i != start);
	out->waiter = out->suspects[out->nr_suspects - 1];
	return true;
}

static int match_circle(struct match_run *run)
{
	unsigned int *round = calloc(run->nr + 1, sizeof(*round)), number = 0;

	if (!round)
		return -ENOMEM;
	for (unsigned int i = 0; i < run->nr && run->out->kind == MATCH_NOTHING; i++) {
		if (fact_is_blocked(&run->ranks[i]) && !round[i])
			match_circle_from(run, i, round, ++number);
	}
	free(round);
	return 0;
}

/* ------------------------------------------------------ waits for anybody */

/*
 * All ranks wait, so nobody is left who could send: whoever waits for a message of any rank, and is
 * waited for itself, keeps the others up.
 */
static void match_anybody(struct match_run *run)
{
	if (run->out->blocked < run->nr)
		return;
	for (unsigned int i = 0; i < run->nr; i++) {
		const struct fact_rank *rank = &run->ranks[i];

		if (rank->doing == FACT_COLLECTIVE || rank->peer < run->nr)
			continue;
		for (unsigned int k = 0; k < run->nr_coll; k++) {
			if (!match_is_missing(&run->coll[k], rank))
				continue;
			match_suspect(run, i);
			match_note(run, run->in[run->coll[k].first], &run->coll[k]);
		}
		for (unsigned int k = 0; k < run->nr; k++) {
			if (run->ranks[k].doing == FACT_COLLECTIVE || run->ranks[k].peer != i)
				continue;
			match_suspect(run, i);
			match_note(run, k, NULL);
		}
	}
}

/* ----------------------------------------------------------------- result */

static void match_list(struct match_run *run)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < run->nr; i++) {
		if (run->suspect[i])
			run->out->suspects[nr++] = i;
	}
}

/* A collective in which every rank that has the communicator waits; NULL. */
static const struct match_coll *match_complete(const struct match_run *run)
{
	for (unsigned int k = 0; k < run->nr_coll; k++) {
		unsigned int i = 0;

		while (i < run->nr && !match_is_missing(&run->coll[k], &run->ranks[i]))
			i++;
		if (i == run->nr && run->coll[k].nr > 1)
			return &run->coll[k];
	}
	return NULL;
}

static void match_rest(struct match_run *run)
{
	struct match *out = run->out;
	const struct match_coll *coll = match_complete(run);

	out->kind = coll ? MATCH_ARRIVED : MATCH_UNKNOWN;
	for (unsigned int i = 0; i < run->nr; i++) {
		if (!fact_is_blocked(&run->ranks[i]))
			continue;
		out->waiter = i;
		if (run->ranks[i].since_ms > out->waited_ms)
			out->waited_ms = run->ranks[i].since_ms;
	}
	if (!coll)
		return;
	out->comm = coll->comm;
	out->seq = coll->seq;
	out->call = match_in(run, coll->first)->call;
	out->waiter = run->in[coll->first];
}

static int match_all(struct match_run *run)
{
	struct match *out = run->out;
	int err = match_collectives(run);

	if (err)
		return err;
	for (unsigned int k = 0; k < run->nr_coll; k++)
		match_differing(run, &run->coll[k]);
	if (out->kind == MATCH_NOTHING) {
		for (unsigned int k = 0; k < run->nr_coll; k++)
			match_missing_of(run, &run->coll[k]);
		match_missing_peers(run);
	}
	if (out->kind != MATCH_NOTHING) {
		match_list(run);
		return 0;
	}
	err = match_circle(run);
	if (!err && out->kind == MATCH_NOTHING)
		match_anybody(run);
	if (!err && out->kind == MATCH_MISSING)
		match_list(run);
	if (!err && out->kind == MATCH_NOTHING)
		match_rest(run);
	return err;
}

int match_ranks(const struct fact_rank *ranks, unsigned int nr, struct match *ret_match)
{
	struct match out = { .kind = MATCH_NOTHING };
	struct match_run run = { .ranks = ranks, .nr = nr, .out = &out };
	int err = 0;

	for (unsigned int i = 0; i < nr; i++)
		out.blocked += fact_is_blocked(&ranks[i]);
	out.suspects = calloc(nr + 1, sizeof(*out.suspects));
	if (!out.suspects)
		return -ENOMEM;
	if (out.blocked)
		err = match_all(&run);
	free(run.in);
	free(run.coll);
	free(run.suspect);
	if (err)
		match_done(&out);
	else
		*ret_match = out;
	return err;
}

void match_done(struct match *match)
{
	free(match->suspects);
	match->suspects = NULL;
	match->nr_suspects = 0;
}
