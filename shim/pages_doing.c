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

/* The entries may change while they are copied: whoever reads them compares two readings. */
static uint32_t pages_threads(const struct status_page *page, struct status_thread *out)
{
	uint32_t nr = 0;

	for (unsigned int i = 0; i < STATUS_THREADS; i++) {
		const struct status_thread *thread = &page->thread[i];

		if (!pages_load(&thread->tid))
			continue;
		out[nr] = *thread;
		out[nr].ops = __atomic_load_n(&thread->ops, __ATOMIC_ACQUIRE);
		nr++;
	}
	return nr;
}

size_t pages_progress(const struct pages *p, unsigned int index, void *buf)
{
	struct status_page *page = p->page[index];
	struct shim_progress *head = buf;
	struct status_thread *threads = (void *)(head + 1);
	struct status_comm *comms, *shown = status_shown(page);
	const size_t max = SHIM_DATA_MAX - sizeof(*head) - STATUS_THREADS * sizeof(*threads);

	*head = (struct shim_progress) {
		.rank = p->ranks->rank[index], .intent = p->intent, .mpi = p->ranks->mpi,
		.state = p->over[index] ? STATUS_ENDED : pages_load(&page->answer.state),
		.nr_threads = p->over[index] ? 0 : pages_threads(page, threads),
	};
	comms = (void *)(threads + head->nr_threads);
	for (uint32_t k = 0; k < page->max_comms && head->nr_comms < max / sizeof(*comms); k++)
		head->nr_comms += status_comm_read(&shown[k], &comms[head->nr_comms]);
	return (size_t)((char *)(comms + head->nr_comms) - (char *)buf);
}

const struct status_ring *pages_ring(const struct pages *p, unsigned int index, uint32_t tid)
{
	struct status_page *page = p->page[index];

	for (unsigned int i = 0; i < STATUS_RINGS && !p->over[index]; i++) {
		if (tid && pages_load(&page->thread[i].tid) == tid)
			return &status_rings(page)[i];
	}
	return NULL;
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
