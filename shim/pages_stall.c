// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that do not catch up, because they wait for a message first.
 *
 * A rank that has begun what others have is held before its next collective. A rank that
 * is behind may need a message which the held rank sends only after that collective; then
 * neither gets on. So if a rank here is behind, waits for a message and nothing moves,
 * STATUS_STALLS is raised. It goes to all nodes like the number of a communicator's
 * collective, so that no node passes for caught up meanwhile. Each node then lets its held
 * ranks begin the one collective that they stand before, and no more: they certainly will
 * begin that one, and nothing is known about later ones. It may take several such steps.
 *
 * A rank that is let on leaves others behind, too. So nothing is done as long as the sender
 * may just compute: a rank here that is outside MPI makes the shim wait a second, and each
 * step waits half as long again as the one before, so that in the end it is longer than any
 * phase of the program.
 *
 * Ranks are asked what they wait for. Their answer may be a moment old, or come from a thread
 * that only looks whether it may begin; so it is left to settle, and the lower number counts.
 */
#include <string.h>

#include "base/clock.h"
#include "shim/pages_priv.h"

#define STALL_NS	50000000ull	/* without a new target, at first */
#define COMPUTES_NS	1000000000ull	/* ... while a rank is outside MPI */
#define SETTLE_NS	20000000ull	/* after ranks were asked */

void pages_stall_begin(struct pages *p)
{
	p->stall.letting = false;
	p->stall.done = 0;
	p->stall.patience = STALL_NS;
	pages_moved(p);
}

void pages_moved(struct pages *p)
{
	p->stall.moved_at = clock_monotonic_ns();
	/* A step that other nodes were told of is finished, whatever moves meanwhile. */
	if (!p->stall.letting)
		p->stall.poked_at = 0;
}

static void pages_stall_poke(struct pages *p)
{
	pages_poke(p);
	p->stall.poked_at = clock_monotonic_ns();
}

bool pages_were_just_asked(const struct pages *p)
{
	return p->stall.poked_at && clock_monotonic_ns() < p->stall.poked_at + SETTLE_NS;
}

/* The ranks were asked, and all have answered. */
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

/*
 * True if a rank that is behind waits for a message. Ranks that compute do not wait for others,
 * and a collective that a rank waits in will be reached by all its members.
 */
static bool awaits_message(const struct pages *p)
{
	bool awaits = false, computes = false;
	struct shim_wait wait;
	unsigned int i;

	for (i = 0; i < p->ranks->nr; i++) {
		pages_wait(p, i, &wait);
		awaits |= pages_misses(p, i) && wait.name[0] && !wait.comm;
		computes |= !wait.name[0];
	}
	return awaits && (!computes || clock_monotonic_ns() >= p->stall.moved_at + COMPUTES_NS);
}

void pages_stalled(struct pages *p)
{
	struct seqs_entry *entry;

	if (!p->stall.poked_at && clock_monotonic_ns() >= p->stall.moved_at + p->stall.patience)
		pages_stall_poke(p);
	if (!is_settled(p))
		return;
	p->stall.poked_at = 0;	/* so that the ranks are asked again */
	entry = awaits_message(p) ? seqs_at(&p->seqs, STATUS_STALLS) : NULL;
	if (!entry)
		return;
	pages_moved(p);
	entry->members = UINT64_MAX;	/* more than are here: so it is reported to ckptd */
	seqs_begin(entry, entry->target + 1);
}

static void let_on(struct pages *p, unsigned int i)
{
	const struct status_comm *comms = status_comms(p->page[i]);
	struct shim_wait wait;
	struct seqs_entry *entry;
	uint64_t begun;
	uint32_t k;

	pages_wait(p, i, &wait);
	/* After MPI_Finalize a rank sends no message that others could wait for. */
	if (wait.held != STATUS_HELD || !wait.comm || p->over[i] ||
	    !strcmp(wait.name, "MPI_Finalize"))
		return;
	for (k = 0; k < p->page[i]->max_comms && comms[k].id != wait.comm; k++)
		;
	entry = k < p->page[i]->max_comms ? seqs_at(&p->seqs, wait.comm) : NULL;
	if (!entry)
		return;
	begun = __atomic_load_n(&comms[k].seq, __ATOMIC_ACQUIRE);
	seqs_begin(entry, (wait.seq < begun ? wait.seq : begun) + 1);
}

bool pages_let_on(struct pages *p)
{
	const struct seqs_entry *entry = seqs_at(&p->seqs, STATUS_STALLS);
	unsigned int i;

	if (entry && entry->target > p->stall.done) {
		p->stall.done = entry->target;
		p->stall.patience += p->stall.patience / 2;
		p->stall.letting = true;
		pages_stall_poke(p);
	}
	if (!p->stall.letting)
		return false;
	if (!is_settled(p))
		return true;
	for (i = 0; i < p->ranks->nr; i++)
		let_on(p, i);
	p->stall.letting = false;
	pages_moved(p);
	return true;
}
