// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that quiesce: which collectives they have begun, and how far all go on.
 *
 * The last collective that one member has begun is the target of all members of its
 * communicator. Communicators with all members on this node are settled here. For the
 * others the shim tells ckptd what was begun, and ckptd answers with the targets.
 */
#include "shim/pages.h"

#include "shim/pages_priv.h"

/* Enter what the rank at @i has begun with single ranks, outside any communicator. */
static bool gather_met(struct pages *p, unsigned int i)
{
	const uint64_t *met = status_met(p->page[i]);
	bool grew = false;
	uint32_t k;

	for (k = 0; k < p->ranks->size; k++) {
		uint64_t seq = __atomic_load_n(&met[k], __ATOMIC_ACQUIRE);
		struct seqs_entry *entry;

		entry = seq ? seqs_at(&p->seqs, STATUS_PAIR(p->ranks->rank[i], k)) : NULL;
		if (!entry)
			continue;
		entry->members = 2;
		entry->here = pages_is_here(p, k) ? 2 : 1;
		grew |= seqs_begin(entry, seq);
	}
	return grew;
}

/* Enter what ranks have begun into the table. True: a target was raised. */
static bool pages_collectives_gather(struct pages *p)
{
	bool grew = false;
	unsigned int i;
	uint32_t k;

	seqs_recount(&p->seqs);
	for (i = 0; i < p->ranks->nr; i++) {
		const struct status_comm *comms = status_comms(p->page[i]);

		for (k = 0; k < p->page[i]->max_comms; k++) {
			struct status_comm comm;
			struct seqs_entry *entry = status_comm_read(&comms[k], &comm) ?
						   seqs_at(&p->seqs, comm.id) : NULL;

			if (!entry)
				continue;
			entry->here++;
			entry->members = comm.members;
			grew |= seqs_begin(entry, comm.seq);
		}
		grew |= gather_met(p, i);
	}
	return grew;
}

/* The index of @rank; nr: it runs on another node. */
static unsigned int index_of(const struct pages *p, uint32_t rank)
{
	unsigned int i;

	for (i = 0; i < p->ranks->nr && p->ranks->rank[i] != rank; i++)
		;
	return i;
}

static bool raise_met(struct pages *p, uint32_t rank, uint32_t other, uint64_t seq)
{
	unsigned int i = index_of(p, rank);
	uint64_t *target;

	if (i >= p->ranks->nr || other >= p->ranks->size)
		return false;
	target = &status_met_targets(p->page[i])[other];
	if (*target >= seq)
		return false;
	__atomic_store_n(target, seq, __ATOMIC_RELEASE);
	pages_wake(p->page[i]);
	return true;
}

/* Write the targets of pairs of ranks; an entry's identity names its two ranks. */
static bool spread_met(struct pages *p)
{
	const uint64_t mask = STATUS_PAIR_RANK_MASK;
	bool any = false;
	size_t i;

	for (i = 0; i < p->seqs.used; i++) {
		const struct seqs_entry *entry = seqs_nth(&p->seqs, i);
		uint32_t a = entry->id >> 31 & mask, b = entry->id & mask;

		if (!status_is_pair(entry->id))
			continue;
		any |= raise_met(p, a, b, entry->target);
		any |= a != b && raise_met(p, b, a, entry->target);
	}
	return any;
}

/* Write targets into the pages that have the communicator. True: some were raised. */
static bool pages_collectives_spread(struct pages *p)
{
	bool any = false;
	unsigned int i;
	uint32_t k;

	for (i = 0; i < p->ranks->nr; i++) {
		struct status_page *page = p->page[i];
		const struct status_comm *comms = status_comms(page);
		struct status_target *targets = status_targets(page);
		bool raised = false;

		for (k = 0; k < page->max_comms; k++) {
			uint64_t id = __atomic_load_n(&comms[k].id, __ATOMIC_ACQUIRE);
			const struct seqs_entry *entry = id ? seqs_at(&p->seqs, id) : NULL;

			if (!entry || (targets[k].id == id && targets[k].seq >= entry->target))
				continue;
			targets[k].seq = entry->target;
			__atomic_store_n(&targets[k].id, id, __ATOMIC_RELEASE);
			raised = true;
		}
		if (raised)
			pages_wake(page);
		any |= raised;
	}
	return any | spread_met(p);
}

/* Report what was begun on communicators with members on other nodes. */
static int tell_begun(struct look *look)
{
	struct seqs *seqs = &look->pages->seqs;
	struct shim_seq batch[SHIM_DATA_MAX / sizeof(struct shim_seq)];
	size_t i, n;
	int err;

	do {
		n = 0;
		for (i = 0; i < seqs->used && n < sizeof(batch) / sizeof(batch[0]); i++) {
			const struct seqs_entry *entry = seqs_nth(seqs, i);

			if (entry->begun > entry->told && entry->here < entry->members)
				batch[n++] = (struct shim_seq) { entry->id, entry->begun };
		}
		if (!n)
			return 0;
		err = pages_report(look, SHIM_BEGUN, 0, look->pages->number, batch,
			     n * sizeof(batch[0]));
		for (i = 0; i < n && !err; i++)
			seqs_at(seqs, batch[i].id)->told = batch[i].seq;
	} while (!err);
	return err;
}

bool pages_misses(const struct pages *p, unsigned int i)
{
	struct status_page *page = p->page[i];
	const struct status_comm *comms = status_comms(page);
	const struct status_target *targets = status_targets(page);
	uint32_t k;

	for (k = 0; k < page->max_comms; k++) {
		if (comms[k].id && targets[k].id == comms[k].id &&
		    __atomic_load_n(&comms[k].seq, __ATOMIC_ACQUIRE) < targets[k].seq)
			return true;
	}
	for (k = 0; k < p->ranks->size; k++) {
		if (__atomic_load_n(&status_met(page)[k], __ATOMIC_ACQUIRE) <
		    status_met_targets(page)[k])
			return true;
	}
	return false;
}

static bool pages_collectives_behind(const struct pages *p, unsigned int i)
{
	const struct status_page *page = p->page[i];

	return pages_load(&page->answer.state) != STATUS_QUIESCED || !pages_answers(p, i) ||
	       pages_load(&page->answer.stragglers) || pages_load(&page->answer.in_collective) ||
	       pages_misses(p, i);
}

/* The rank to name as behind: one that others wait for, rather than one that waits. */
static unsigned int first_behind(const struct pages *p)
{
	unsigned int i, first = p->ranks->nr;

	for (i = p->ranks->nr; i-- > 0;) {
		if (pages_collectives_behind(p, i) &&
		    (first == p->ranks->nr || pages_misses(p, i) || !pages_misses(p, first)))
			first = i;
	}
	return first;
}

int pages_look_quiesced(struct look *look)
{
	struct pages *p = look->pages;
	int err;

	look->first = pages_first_without(p, STATUS_QUIESCED);
	if (!p->reached && look->first < p->ranks->nr)
		return 0;
	if (pages_collectives_gather(p) | pages_collectives_spread(p)) {
		look->first = 0;
		pages_moved(p);
	}
	/* A rank whose communicators are not followed would pass for caught up: fail instead. */
	if (p->seqs.full)
		return p->failed ? 0
				 : pages_tell_failure(look, 0, STATUS_REFUSED,
						      "the ranks here have more communicators than "
						      "can be followed");
	err = tell_begun(look);
	if (!err && !p->reached) {
		err = pages_report(look, SHIM_REACHED, STATUS_QUIESCED, p->number, NULL, 0);
		p->reached = !err;
	}
	if (err || !p->targets)
		return err;
	/* Targets that it raises are written and reported at the next look. */
	if (pages_let_on(p) || p->caught_up)
		return 0;
	look->first = first_behind(p);
	if (look->first < p->ranks->nr) {
		pages_stalled(p);
		return 0;
	}
	/* Look once more: a collective begun meanwhile is a new target. */
	if (pages_collectives_gather(p) | pages_collectives_spread(p))
		return tell_begun(look);
	err = pages_report(look, SHIM_CAUGHT_UP, 0, p->targets, NULL, 0);
	p->caught_up = !err;
	return err;
}
