// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns the ranks' answers in their status pages into messages for ckptd; see pages.h.
 *
 * struct pages keeps the reported state beside the pages, and updates it only after a message
 * was taken: a full connection loses nothing. Messages between ranks of this node concern nobody
 * else and are settled here. Fields that ranks write are read with acquire order, as
 * mpi-glue/status_page.h asks.
 */
#include "shim/pages.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "shim/pages_priv.h"

#define STUCK_NS	200000000ull	/* between two SHIM_STUCK messages */
#define LATE_NS		1000000000ull	/* after an order to run on */

/* ---------------------------------------------------------------- reports */

int pages_report(struct look *look, uint32_t type, int32_t value, uint64_t number,
		 const void *data, size_t len)
{
	struct shim_msg msg = { .type = type, .value = value, .number = number };

	return look->emit(&msg, data, len, look->arg);
}

unsigned int pages_first_without(const struct pages *p, uint32_t state)
{
	unsigned int i;

	for (i = 0; i < p->ranks->nr; i++) {
		uint32_t now = pages_load(&p->page[i]->answer.state);

		/* Such a rank is not held: do not wait for it to run. */
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

/* As failure_of(), for a rank whose process has ended; @state is the last one in its page. */
static const char *end_of(uint32_t state, uint32_t intent)
{
	if (state == STATUS_ENDED)
		return failure_of(NULL, state, intent);
	if (state == STATUS_SILENT || state == STATUS_REBUILDING)
		return "it has ended before it ran again";
	return intent == STATUS_RUN ? NULL : "it has ended without MPI_Finalize";
}

int pages_tell_failure(struct look *look, unsigned int i, uint32_t state, const char *text)
{
	struct pages *p = look->pages;
	struct shim_failure failure = { .rank = p->ranks->rank[i] };
	int err;

	/* The text in a page may lack its terminating 0. */
	snprintf(failure.text, sizeof(failure.text), "%.*s",
		 (int)sizeof(failure.text) - 1, text);
	err = pages_report(look, SHIM_RANK_FAILED, (int32_t)state, p->number, &failure,
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

		/* A refusal of an older order says nothing about this one. */
		if (!text || (state == STATUS_REFUSED && !pages_answers(p, i)))
			continue;
		err = pages_tell_failure(look, i, state, text);
	}
	return err;
}

/* --------------------------------------------------------------- channels */

/* Report the counters of the rank at @i with ranks of other nodes that have changed. */
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

			if (count == told[k] || pages_is_here(p, k))
				continue;
			batch[n++] = (struct shim_count) {
				received ? k : own, received ? own : k, count };
		}
		if (n)
			err = pages_report(look, SHIM_COUNTS, received, p->number, batch,
				     n * sizeof(batch[0]));
		for (j = 0; j < n && !err; j++)
			told[received ? batch[j].source : batch[j].dest] = batch[j].count;
	}
	return err;
}

/* Index of the first rank that has not received all that ranks here sent it; nr: none. */
static unsigned int first_undrained(const struct pages *p)
{
	unsigned int i, k;

	for (i = 0; i < p->ranks->nr; i++) {
		for (k = 0; k < p->ranks->nr; k++) {
			uint64_t sent = status_sent(p->page[k])[p->ranks->rank[i]];
			uint64_t got =
				__atomic_load_n(&status_received(p->page[i])[p->ranks->rank[k]],
						__ATOMIC_ACQUIRE);

			if (sent != got)
				return i;
		}
	}
	return i;
}

/*
 * Index of the first rank with pending sends; nr: none. A message may have arrived while the
 * sender's library still waits for the receiver's acknowledgement, for which both must make
 * progress, and silent ranks make none. Nothing new is sent while draining, so this ends, and
 * other nodes need not know these counts.
 */
static unsigned int first_pending(const struct pages *p)
{
	unsigned int i;

	for (i = 0; i < p->ranks->nr && !pages_load(&p->page[i]->answer.pending); i++)
		;
	return i;
}

static int look_draining(struct look *look)
{
	struct pages *p = look->pages;
	unsigned int i;
	int err = 0;

	look->first = pages_first_without(p, STATUS_DRAINING);
	if (!p->reached && look->first < p->ranks->nr)
		return 0;
	for (i = 0; i < p->ranks->nr && !err && !p->reached; i++)
		err = tell_counts(look, i, false);
	for (i = 0; i < p->ranks->nr && !err; i++)
		err = tell_counts(look, i, true);
	look->first = first_undrained(p);
	if (look->first == p->ranks->nr && !p->reached)
		look->first = first_pending(p);
	if (err || p->reached || look->first < p->ranks->nr)
		return err;
	err = pages_report(look, SHIM_REACHED, STATUS_DRAINING, p->number, NULL, 0);
	p->reached = !err;
	return err;
}

/* ------------------------------------------------------------------- look */

static int look_for_state(struct look *look, uint32_t state)
{
	struct pages *p = look->pages;
	int err;

	look->first = pages_first_without(p, state);
	if (p->reached || look->first < p->ranks->nr)
		return 0;
	err = pages_report(look, SHIM_REACHED, (int32_t)state, p->number, NULL, 0);
	p->reached = !err;
	return err;
}

static void tell_stuck(struct look *look)
{
	struct pages *p = look->pages;
	uint64_t now = clock_monotonic_ns();
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
	if (!pages_report(look, SHIM_STUCK, 0, p->number, &wait, sizeof(wait)))
		p->stuck_at = now;
}

bool pages_look(struct pages *p, pages_emit_fn emit, void *arg)
{
	struct look look = { .pages = p, .emit = emit, .arg = arg, .first = p->ranks->nr };
	int err = look_for_failures(&look);

	if (!err && p->intent == STATUS_RUN)
		err = look_for_state(&look, STATUS_RUNNING);
	else if (!err && p->intent == STATUS_QUIESCE)
		err = pages_look_quiesced(&look);
	else if (!err && p->intent == STATUS_DRAIN)
		err = look_draining(&look);
	else if (!err)
		err = look_for_state(&look, STATUS_SILENT);
	if (!err)
		tell_stuck(&look);
	if (err && err != -EAGAIN)
		return false;
	/* Do not look for ever at a rank that failed to run on. */
	return p->intent != STATUS_RUN || !(p->reached || p->failed);
}

long pages_pause(const struct pages *p)
{
	bool late = p->intent == STATUS_RUN && clock_monotonic_ns() >= p->ordered_at + LATE_NS;

	return late ? PAGES_LOOK_LATE_NS : PAGES_LOOK_NS;
}

/*
 * Entries of a lower half: the process, then its descriptors and threads. A rank writes its page
 * as it likes: the number is bounded here, and the contents can harm only its own job.
 */
static size_t lower_entries(const struct pages *p, const struct status_lower *lower)
{
	size_t n = (size_t)lower->nr_fds + lower->nr_threads;

	return n > status_lower_max(p->ranks->size) ? 0 : 1 + n;
}

static struct shim_exclude lower_entry(const struct status_lower *lower, uint32_t index, size_t k)
{
	return (struct shim_exclude) {
		.index = index,
		.kind = !k ? SHIM_LEAVE_PROCESS :
			k <= lower->nr_fds ? SHIM_LEAVE_FD : SHIM_LEAVE_THREAD,
		.number = !k ? lower->pid : lower->item[k - 1],
	};
}

size_t pages_exclude(const struct pages *p, size_t from, struct shim_exclude *out, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->ranks->nr && n < max; i++) {
		const struct status_lower *lower = status_lower(p->page[i]);
		size_t all = lower_entries(p, lower), k = from < all ? from : all;

		from -= k;
		while (k < all && n < max)
			out[n++] = lower_entry(lower, i, k++);
	}
	return n;
}
