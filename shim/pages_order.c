// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orders into status pages; see pages.h.
 *
 * An order is whole before its serial number says that there is one: a rank that sees the
 * number sees the rest.  pages_collectives.c raises how far ranks may go on in the same way.
 */
#include "shim/pages.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/pages_priv.h"

void pages_wake(struct status_page *page)
{
	__atomic_add_fetch(&page->order.serial, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &page->order.serial, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/*
 * Clear the targets of an earlier checkpoint. If it failed, ranks may not have reached them, and
 * would go on too far now.
 */
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
	/* Each drain begins with no counts: all are reported anew. */
	if (intent == STATUS_DRAIN)
		pages_forget_counts(p);
	p->number = number;
	p->intent = intent;
	p->targets = 0;
	p->reached = p->failed = p->caught_up = false;
	p->ordered_at = p->stuck_at = clock_monotonic_ns();
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
