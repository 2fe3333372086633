// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words for people on what the ranks of status pages are doing; see pages.h.
 *
 * A rank writes these words only when an order, or a poke, has reached it: the text read here may
 * be as old as the last of these. No decision depends on the text, and reading it changes no order.
 */
#include <string.h>

#include "shim/pages_priv.h"

void pages_wait(const struct pages *p, unsigned int index, struct shim_wait *ret_wait)
{
	const struct status_wait *wait = &p->page[index]->answer.wait;
	unsigned int tries;
	uint32_t begun;

	for (tries = 0; tries < 100; tries++) {
		begun = pages_load(&wait->writing);
		*ret_wait = (struct shim_wait) {
			.rank = p->ranks->rank[index], .peer = wait->peer,
			.call = wait->call, .held = wait->held, .comm = wait->comm,
			.seq = wait->seq,
		};
		memcpy(ret_wait->name, wait->name, sizeof(ret_wait->name));
		ret_wait->name[sizeof(ret_wait->name) - 1] = '\0';
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(begun & 1) && pages_load(&wait->writing) == begun)
			return;
	}
}

void pages_poke(const struct pages *p)
{
	unsigned int i;

	for (i = 0; i < p->ranks->nr; i++)
		pages_wake(p->page[i]);
}

size_t pages_doing(const struct pages *p, unsigned int index, struct shim_doing *doing,
		   size_t max)
{
	size_t n = 0;

	for (; index < p->ranks->nr && n < max; index++, n++) {
		doing[n].state = p->over[index] ? STATUS_ENDED :
				 pages_load(&p->page[index]->answer.state);
		doing[n].fresh = p->over[index] || doing[n].state == STATUS_ENDED ||
				 doing[n].state == STATUS_BEFORE || pages_answers(p, index);
		pages_wait(p, index, &doing[n].wait);
	}
	return n;
}

void pages_over(struct pages *p, unsigned int index)
{
	p->over[index] = true;
}

void pages_name_missed(const struct pages *p, unsigned int index, struct shim_wait *wait)
{
	struct status_page *page = p->page[index];
	const struct status_comm *comms = status_comms(page);
	const struct status_target *targets = status_targets(page);
	unsigned int i;
	uint32_t k, j;

	for (k = 0; k < page->max_comms; k++) {
		if (comms[k].id && targets[k].id == comms[k].id && comms[k].seq < targets[k].seq)
			break;
	}
	if (k == page->max_comms)
		return;
	wait->comm = comms[k].id;
	wait->seq = targets[k].seq;
	for (i = 0; i < p->ranks->nr; i++) {
		const struct status_comm *theirs = status_comms(p->page[i]);

		for (j = 0; j < p->page[i]->max_comms; j++) {
			if (theirs[j].id == wait->comm && theirs[j].seq >= wait->seq) {
				wait->peer = p->ranks->rank[i];
				return;
			}
		}
	}
}
