// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orders into status pages, and what the ranks answer as messages; see pages.h.
 *
 * What was reported is kept beside what is true, and raised only when the message was taken: a
 * connection that is full loses nothing. Collectives of communicators that live on this
 * node alone, and messages between its ranks, concern nobody else and are settled here.
 *
 * Only this file writes orders; the pages' other half is read with acquire order, as the
 * glue's header asks for.
 */
#include "shim/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/status_page.h"
#include "shim/pages_seqs.h"
#include "shim/pages_priv.h"

#define STUCK_NS	200000000ull	/* between two words about who is waited for */
#define LATE_NS		1000000000ull	/* after an order to run on */

uint64_t pages_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* ----------------------------------------------------------------- orders */

void pages_wake(struct status_page *page)
{
	__atomic_add_fetch(&page->order.serial, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &page->order.serial, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Of a checkpoint before, which may have come to nothing: ranks may not have got so far. */
static void forget_targets(struct pages *p)
{
	unsigned int i;
	uint32_t k;

	for (i = 0; i < p->ranks->nr; i++) {
		struct status_target *targets = status_targets(p->page[i]);

		for (k = 0; k < p->page[i]->max_comms; k++) {
			__atomic_store_n(&targets[k].id, 0, __ATOMIC_RELEASE);
			targets[k].seq = 0;
		}
	}
}

void pages_order(struct pages *p, uint64_t number, uint32_t intent)
{
	unsigned int i;

	if (p->intent == STATUS_RUN && intent != STATUS_RUN) {
		seqs_clear(&p->seqs);
		forget_targets(p);
	}
	/* Who drains begins at nothing: in each all is said anew. */
	if (intent == STATUS_DRAIN)
		pages_forget_counts(p);
	p->number = number;
	p->intent = intent;
	p->targets = 0;
	p->reached = p->failed = p->caught_up = false;
	p->ordered_at = p->stuck_at = pages_now();
	pages_stall_begin(p);
	for (i = 0; i < p->ranks->nr; i++) {
		p->page[i]->order.intent = intent;
		pages_wake(p->page[i]);
	}
}

int pages_targets(struct pages *p, uint64_t number, const struct shim_seq *targets, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct seqs_entry *entry = seqs_at(&p->seqs, targets[i].id);

		if (!entry)
			return -ENOSPC;
		if (entry->target < targets[i].seq) {
			entry->target = targets[i].seq;
			pages_moved(p);
		}
	}
	p->targets = number;
	p->caught_up = false;
	return 0;
}

static int put_environment(struct status_order *order, const json_t *env)
{
	size_t at = 0, i, len;

	memset(order->environment, 0, sizeof(order->environment));
	for (i = 0; i < json_array_size(env); i++) {
		const char *string = json_string_value(json_array_get(env, i));

		len = string ? strlen(string) + 1 : 0;
		if (at + len + 1 > sizeof(order->environment))
			return -E2BIG;
		memcpy(order->environment + at, string, len);
		at += len;
	}
	return 0;
}

int pages_restart(struct pages *p, const json_t *envs)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < p->ranks->nr && !err; i++) {
		struct status_order *order = &p->page[i]->order;

		order->run++;
		order->restart = STATUS_FORGET;
		err = put_environment(order, json_array_get(envs, i));
	}
	return err;
}

/* ---------------------------------------------------------------- reports */

static int report(struct look *look, uint32_t type, int32_t value, uint64_t number,
		  const void *data, size_t len)
{
	struct shim_msg msg = { .type = type, .value = value, .number = number };

	return look->emit(&msg, data, len, look->arg);
}

/* The first rank that does not have @state as its answer to the latest order; nr: all have. */
static unsigned int first_without(const struct pages *p, uint32_t state)
{
	unsigned int i;

	for (i = 0; i < p->ranks->nr; i++) {
		uint32_t now = pages_load(&p->page[i]->answer.state);

		/* Not held, and nobody's to wait for. */
		if (state == STATUS_RUNNING &&
		    (now == STATUS_ENDED || now == STATUS_BEFORE || p->over[i]))
			continue;
		if (now != state || !pages_answers(p, i))
			break;
	}
	return i;
}

static const char *failure_of(const struct status_page *page, uint32_t state, uint32_t intent)
{
	switch (state) {
	case STATUS_BEFORE:
		return intent == STATUS_RUN ? NULL :
		       "it has not called MPI_Init yet; try again later";
	case STATUS_ENDED:
		return intent == STATUS_RUN ? NULL :
		       "it has called MPI_Finalize; there is nothing left to save of MPI";
	case STATUS_REFUSED:
		return intent == STATUS_RUN ? NULL : page->answer.text;
	case STATUS_BROKEN:
		return page->answer.text;
	default:
		return NULL;
	}
}

/* Of a rank whose process is not there any more; what its page says is its last word. */
static const char *end_of(uint32_t state, uint32_t intent)
{
	if (state == STATUS_ENDED)
		return failure_of(NULL, state, intent);
	if (state == STATUS_SILENT || state == STATUS_REBUILDING)
		return "it has ended before it ran again";
	return intent == STATUS_RUN ? NULL : "it has ended without MPI_Finalize";
}

/* Once for each order. */
static int tell_failure(struct look *look, unsigned int i, uint32_t state, const char *text)
{
	struct pages *p = look->pages;
	struct shim_failure failure = { .rank = p->ranks->rank[i] };
	int err;

	/* A page's text may have no end. */
	snprintf(failure.text, sizeof(failure.text), "%.*s",
		 (int)sizeof(failure.text) - 1, text);
	err = report(look, SHIM_RANK_FAILED, (int32_t)state, p->number, &failure,
		     sizeof(failure));
	p->failed = !err;
	return err;
}

static int look_for_failures(struct look *look)
{
	struct pages *p = look->pages;
	unsigned int i;
	int err = 0;

	for (i = 0; i < p->ranks->nr && !p->failed && !err; i++) {
		const struct status_page *page = p->page[i];
		uint32_t state = pages_load(&page->answer.state);
		const char *text = p->over[i] ? end_of(state, p->intent) :
				   failure_of(page, state, p->intent);

		/* An older order's word is not about this one. */
		if (!text || (state == STATUS_REFUSED && !pages_answers(p, i)))
			continue;
		err = tell_failure(look, i, state, text);
	}
	return err;
}

/* ------------------------------------------------------------ collectives */

static bool is_here(const struct pages *p, uint32_t rank)
{
	return p->ranks->node_of[rank] == p->ranks->node;
}

/* What rank @i has begun with others without a communicator. */
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
		entry->here = is_here(p, k) ? 2 : 1;
		grew |= seqs_begin(entry, seq);
	}
	return grew;
}

/* What ranks have begun, into the table. True: it tells more than before. */
static bool gather(struct pages *p)
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

/* The index of a rank that may be elsewhere; nr: it is. */
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

/* Targets of pairs of ranks: the identity says which. */
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

/* Targets into the pages that have the communicator. True: some were raised. */
static bool spread(struct pages *p)
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

/* Of communicators with members elsewhere. */
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
		err = report(look, SHIM_BEGUN, 0, look->pages->number, batch,
			     n * sizeof(batch[0]));
		for (i = 0; i < n && !err; i++)
			seqs_at(seqs, batch[i].id)->told = batch[i].seq;
	} while (!err);
	return err;
}

/* It has not begun what others have. */
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

static bool behind(const struct pages *p, unsigned int i)
{
	const struct status_page *page = p->page[i];

	return pages_load(&page->answer.state) != STATUS_QUIESCED || !pages_answers(p, i) ||
	       pages_load(&page->answer.stragglers) || pages_load(&page->answer.in_collective) ||
	       pages_misses(p, i);
}

/* One that others wait for, before those that wait: it is the one to be named. */
static unsigned int first_behind(const struct pages *p)
{
	unsigned int i, first = p->ranks->nr;

	for (i = p->ranks->nr; i-- > 0;) {
		if (behind(p, i) && (first == p->ranks->nr || pages_misses(p, i) || !pages_misses(p, first)))
			first = i;
	}
	return first;
}

static int look_quiesced(struct look *look)
{
	struct pages *p = look->pages;
	int err;

	look->first = first_without(p, STATUS_QUIESCED);
	if (!p->reached && look->first < p->ranks->nr)
		return 0;
	if (gather(p) | spread(p)) {
		look->first = 0;
		pages_moved(p);
	}
	/* Who is not followed would pass for caught up. */
	if (p->seqs.full)
		return p->failed ? 0 : tell_failure(look, 0, STATUS_REFUSED,
						    "the ranks here have more communicators than can be followed");
	err = tell_begun(look);
	if (!err && !p->reached) {
		err = report(look, SHIM_REACHED, STATUS_QUIESCED, p->number, NULL, 0);
		p->reached = !err;
	}
	if (err || !p->targets)
		return err;
	/* What it raises is spread and told at the next look. */
	if (pages_let_on(p) || p->caught_up)
		return 0;
	look->first = first_behind(p);
	if (look->first < p->ranks->nr) {
		pages_stalled(p);
		return 0;
	}
	/* Once more: what grew meanwhile is a new target. */
	if (gather(p) | spread(p))
		return tell_begun(look);
	err = report(look, SHIM_CAUGHT_UP, 0, p->targets, NULL, 0);
	p->caught_up = !err;
	return err;
}

/* --------------------------------------------------------------- channels */

/* Counters of index @i with ranks of other nodes, as far as they are new. */
static int tell_counts(struct look *look, unsigned int i, bool received)
{
	struct pages *p = look->pages;
	uint64_t *told = (received ? p->told_received : p->told_sent) +
			 (size_t)i * p->ranks->size;
	const uint64_t *now = received ? status_received(p->page[i]) : status_sent(p->page[i]);
	struct shim_count batch[SHIM_DATA_MAX / sizeof(struct shim_count)];
	uint32_t own = p->ranks->rank[i], k = 0;
	size_t n, j;
	int err = 0;

	while (k < p->ranks->size && !err) {
		for (n = 0; k < p->ranks->size && n < sizeof(batch) / sizeof(batch[0]); k++) {
			uint64_t count = __atomic_load_n(&now[k], __ATOMIC_ACQUIRE);

			if (count == told[k] || is_here(p, k))
				continue;
			batch[n++] = (struct shim_count) {
				received ? k : own, received ? own : k, count };
		}
		if (n)
			err = report(look, SHIM_COUNTS, received, p->number, batch,
				     n * sizeof(batch[0]));
		for (j = 0; j < n && !err; j++)
			told[received ? batch[j].source : batch[j].dest] = batch[j].count;
	}
	return err;
}

/* All that ranks here have sent each other has come. */
static unsigned int first_undrained(const struct pages *p)
{
	unsigned int i, k;

	for (i = 0; i < p->ranks->nr; i++) {
		for (k = 0; k < p->ranks->nr; k++) {
			uint64_t sent = status_sent(p->page[k])[p->ranks->rank[i]];
			uint64_t got = __atomic_load_n(&status_received(p->page[i])[p->ranks->rank[k]],
						       __ATOMIC_ACQUIRE);

			if (sent != got)
				return i;
		}
	}
	return i;
}

static int look_draining(struct look *look)
{
	struct pages *p = look->pages;
	unsigned int i;
	int err = 0;

	look->first = first_without(p, STATUS_DRAINING);
	if (!p->reached && look->first < p->ranks->nr)
		return 0;
	for (i = 0; i < p->ranks->nr && !err && !p->reached; i++)
		err = tell_counts(look, i, false);
	for (i = 0; i < p->ranks->nr && !err; i++)
		err = tell_counts(look, i, true);
	look->first = first_undrained(p);
	if (err || p->reached || look->first < p->ranks->nr)
		return err;
	err = report(look, SHIM_REACHED, STATUS_DRAINING, p->number, NULL, 0);
	p->reached = !err;
	return err;
}

/* ------------------------------------------------------------------- look */

static int look_for_state(struct look *look, uint32_t state)
{
	struct pages *p = look->pages;
	int err;

	look->first = first_without(p, state);
	if (p->reached || look->first < p->ranks->nr)
		return 0;
	err = report(look, SHIM_REACHED, (int32_t)state, p->number, NULL, 0);
	p->reached = !err;
	return err;
}

static void tell_stuck(struct look *look)
{
	struct pages *p = look->pages;
	uint64_t now = pages_now();
	struct shim_wait wait;

	if (look->first >= p->ranks->nr || now < p->stuck_at + STUCK_NS)
		return;
	if (!pages_answers(p, look->first) && pages_were_just_asked(p))
		return;
	pages_wait(p, look->first, &wait);
	if (!pages_answers(p, look->first))
		wait = (struct shim_wait) {
			.rank = wait.rank, .peer = STATUS_NONE, .held = SHIM_WAIT_MUTE };
	else if (!wait.name[0])
		pages_name_missed(p, look->first, &wait);
	if (!report(look, SHIM_STUCK, 0, p->number, &wait, sizeof(wait)))
		p->stuck_at = now;
}

bool pages_look(struct pages *p, pages_emit_fn emit, void *arg)
{
	struct look look = { .pages = p, .emit = emit, .arg = arg, .first = p->ranks->nr };
	int err = look_for_failures(&look);

	if (!err && p->intent == STATUS_RUN)
		err = look_for_state(&look, STATUS_RUNNING);
	else if (!err && p->intent == STATUS_QUIESCE)
		err = look_quiesced(&look);
	else if (!err && p->intent == STATUS_DRAIN)
		err = look_draining(&look);
	else if (!err)
		err = look_for_state(&look, STATUS_SILENT);
	if (!err)
		tell_stuck(&look);
	if (err && err != -EAGAIN)
		return false;
	/* What failed to run on is not looked at for ever. */
	return p->intent != STATUS_RUN || !(p->reached || p->failed);
}

long pages_pause(const struct pages *p)
{
	bool late = p->intent == STATUS_RUN && pages_now() >= p->ordered_at + LATE_NS;

	return late ? PAGES_LOOK_LATE_NS : PAGES_LOOK_NS;
}

size_t pages_leave_out(const struct pages *p, unsigned int index, struct shim_leave_out *out,
		       size_t max)
{
	size_t n = 0;
	uint32_t k;

	for (; index < p->ranks->nr; index++) {
		const struct status_lower *lower = status_lower(p->page[index]);
		uint32_t fds = lower->nr_fds, all = fds + lower->nr_threads;

		/* Whole ranks only; one that has more than there is room for is our bug. */
		if (all > STATUS_LOWER_MAX || n + all + 1 > max)
			break;
		out[n++] = (struct shim_leave_out) {
			index, SHIM_LEAVE_PROCESS, lower->pid };
		for (k = 0; k < all; k++)
			out[n++] = (struct shim_leave_out) {
				.index = index,
				.kind = k < fds ? SHIM_LEAVE_FD : SHIM_LEAVE_THREAD,
				.number = lower->item[k],
			};
	}
	return n;
}
