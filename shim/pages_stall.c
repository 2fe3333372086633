// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that do not catch up, because they wait for a message first.
 *
 * A rank that has begun what others have is held before its next collective. Another one
 * that is behind may need a message which that rank sends after it; then neither gets on.
 * So if somebody here is behind, waits for a message and nothing moves, STATUS_STALLS is
 * raised, which goes to all nodes like the number of a communicator's collective, so that
 * nobody passes for caught up meanwhile. Each node lets its held ranks begin the one
 * collective that they stand before, and no more: that they will is certain, of those
 * after it nothing is. It may take several such steps.
 *
 * What ranks wait for they are asked for; what a held thread has not begun is one more
 * than its page lists. (While it looks whether it may, that can be one too many, for an instant: so
 * it is left to settle. A target that is too high can be missed until the deadline, at worst.)
 */
#include "shim/pages_priv.h"

#define STALL_NS	50000000ull	/* without a new target */
#define SETTLE_NS	20000000ull	/* after ranks were asked */

void pages_moved(struct pages *p)
{
	p->stall.moved_at = pages_now();
	p->stall.poked_at = 0;
	p->stall.letting = false;
}

static void poke(struct pages *p)
{
	pages_poke(p);
	p->stall.poked_at = pages_now();
}

bool pages_were_just_asked(const struct pages *p)
{
	return p->stall.poked_at && pages_now() < p->stall.poked_at + SETTLE_NS;
}

/* They were asked, and have answered. */
static bool is_settled(const struct pages *p)
{
	unsigned int i;

	if (!p->stall.poked_at || pages_were_just_asked(p))
		return false;
	for (i = 0; i < p->ranks->nr; i++) {
		if (!p->over[i] && !pages_answers(p, i))
			return false;
	}
	return true;
}

/* One that computes does not need the others, nor one in a collective, to which all come. */
static bool awaits_message(const struct pages *p)
{
	struct shim_wait wait;
	unsigned int i;

	for (i = 0; i < p->ranks->nr; i++) {
		pages_wait(p, i, &wait);
		if (pages_misses(p, i) && wait.name[0] && !wait.comm)
			return true;
	}
	return false;
}

void pages_stalled(struct pages *p)
{
	struct seqs_entry *entry;

	if (!p->stall.poked_at && pages_now() >= p->stall.moved_at + STALL_NS)
		poke(p);
	if (!is_settled(p))
		return;
	pages_moved(p);
	entry = awaits_message(p) ? seqs_at(&p->seqs, STATUS_STALLS) : NULL;
	if (!entry)
		return;
	entry->members = UINT64_MAX;	/* it is told to the others */
	seqs_begin(entry, entry->target + 1);
}

static void let_on(struct pages *p, unsigned int i)
{
	const struct status_comm *comms = status_comms(p->page[i]);
	struct shim_wait wait;
	struct seqs_entry *entry;
	uint32_t k;

	pages_wait(p, i, &wait);
	if (wait.held != STATUS_HELD || !wait.comm || p->over[i])
		return;
	for (k = 0; k < p->page[i]->max_comms && comms[k].id != wait.comm; k++)
		;
	entry = k < p->page[i]->max_comms ? seqs_at(&p->seqs, wait.comm) : NULL;
	if (entry)
		seqs_begin(entry, __atomic_load_n(&comms[k].seq, __ATOMIC_ACQUIRE) + 1);
}

bool pages_let_on(struct pages *p)
{
	const struct seqs_entry *entry = seqs_at(&p->seqs, STATUS_STALLS);
	unsigned int i;

	if (entry && entry->target > p->stall.done) {
		p->stall.done = entry->target;
		p->stall.letting = true;
		poke(p);
	}
	if (!p->stall.letting)
		return false;
	if (!is_settled(p))
		return true;
	for (i = 0; i < p->ranks->nr; i++)
		let_on(p, i);
	pages_moved(p);
	return true;
}
