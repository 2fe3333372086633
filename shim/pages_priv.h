/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of the status pages alone.
 *
 *	pages.c			what the ranks answer, as reports
 *	pages_order.c		orders
 *	pages_collectives.c	how far ranks that quiesce go on
 *	pages_stall.c		those that catch up, and do not get on
 *	pages_doing.c		what ranks are doing, for people
 *	pages_open.c		files and mappings
 */
#ifndef STILLPOINT_SHIM_PAGES_PRIV_H
#define STILLPOINT_SHIM_PAGES_PRIV_H

#include "mpi-glue/status_page.h"
#include "shim/pages.h"
#include "shim/pages_seqs.h"

struct pages {
	const struct ranks *ranks;
	struct status_page **page;	/* by index */
	size_t size;			/* of each */
	bool *over;			/* by index: the process has ended */
	uint32_t intent;
	uint64_t number;	/* of the order */
	uint64_t targets;	/* of the last targets; 0: nobody has asked */
	bool reached, failed, caught_up;	/* and that was reported */
	uint64_t ordered_at, stuck_at;
	struct {
		uint64_t moved_at;	/* when a target was raised last */
		uint64_t poked_at;	/* 0: not since then */
		uint64_t done;		/* of STATUS_STALLS */
		uint64_t patience;	/* ns; more after each step */
		bool letting;		/* what ranks wait for is asked for, to let them on */
	} stall;
	struct seqs seqs;
	uint64_t *told_sent, *told_received;	/* [index][rank], in this drain */
};

/* One pass over the pages. */
struct look {
	struct pages *pages;
	pages_emit_fn emit;
	void *arg;
	unsigned int first;	/* index of the rank that is waited for; nr: none */
};

static inline uint32_t pages_load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The rank at index @i has seen the latest order. */
static inline bool pages_answers(const struct pages *p, unsigned int i)
{
	return pages_load(&p->page[i]->answer.seen) == p->page[i]->order.serial;
}

static inline bool pages_is_here(const struct pages *p, uint32_t rank)
{
	return p->ranks->node_of[rank] == p->ranks->node;
}

/* pages.c: what the look's function answers to a message. */
int pages_report(struct look *look, uint32_t type, int32_t value, uint64_t number,
		 const void *data, size_t len);
/* Once for each order: the rank at @index cannot do what it asks for. */
int pages_tell_failure(struct look *look, unsigned int index, uint32_t state, const char *text);
/* The first rank that does not have @state as its answer to the latest order; nr: all have. */
unsigned int pages_first_without(const struct pages *p, uint32_t state);
/* pages_order.c: have the rank look at its order. */
void pages_wake(struct status_page *page);
/* pages_collectives.c: a look at ranks that quiesce; one has not begun what others have. */
int pages_look_quiesced(struct look *look);
bool pages_misses(const struct pages *p, unsigned int index);
/* pages_stall.c: a new order; and a target was raised. */
void pages_stall_begin(struct pages *p);
void pages_moved(struct pages *p);
/* Somebody is behind: have it told if that lasts and it waits for a message. */
void pages_stalled(struct pages *p);
/* They were asked an instant ago: who has not answered is not mute. */
bool pages_were_just_asked(const struct pages *p);
/* If somebody was stalled anywhere, held ranks here get targets. True: that is not over. */
bool pages_let_on(struct pages *p);
/* pages_open.c: no count has been told. */
void pages_forget_counts(struct pages *p);
/* pages_doing.c: of a rank outside MPI, what it has not begun yet, and one that has. */
void pages_name_missed(const struct pages *p, unsigned int index, struct shim_wait *wait);

#endif /* STILLPOINT_SHIM_PAGES_PRIV_H */
