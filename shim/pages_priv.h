/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the files of the status pages (pages.h); no other file includes this header.
 *
 *	pages.c			the ranks' answers, as reports
 *	pages_order.c		orders
 *	pages_collectives.c	how far ranks that quiesce go on
 *	pages_stall.c		ranks that do not catch up
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
	size_t size;			/* bytes of each page */
	bool *over;			/* by index: the process has ended */
	uint32_t intent;
	uint64_t number;	/* of the order */
	uint64_t targets;	/* number of the last targets; 0: none came yet */
	bool reached, failed, caught_up;	/* reported for this order */
	uint64_t ordered_at, stuck_at;
	struct {
		uint64_t moved_at;	/* when a target was raised last */
		uint64_t poked_at;	/* 0: not since @moved_at */
		uint64_t done;		/* value of STATUS_STALLS that was handled */
		uint64_t patience;	/* ns; more after each step */
		bool letting;		/* asked what ranks wait for, to let them on */
	} stall;
	struct seqs seqs;
	uint64_t *told_sent, *told_received;	/* [index][rank], in this drain */
};

/* One pass over the pages. */
struct look {
	struct pages *pages;
	pages_emit_fn emit;
	void *arg;
	unsigned int first;	/* index of the first rank still to wait for; nr: none */
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

/* pages.c: send a report; returns the result of the look's emit function. */
int pages_report(struct look *look, uint32_t type, int32_t value, uint64_t number,
		 const void *data, size_t len);
/* Report, once for each order, that the rank at @index cannot follow it. */
int pages_tell_failure(struct look *look, unsigned int index, uint32_t state, const char *text);
/* Index of the first rank whose answer to the latest order is not @state; nr: none. */
unsigned int pages_first_without(const struct pages *p, uint32_t state);
/* pages_order.c: have the rank look at its order. */
void pages_wake(struct status_page *page);
/* pages_collectives.c: a look at ranks that quiesce. */
int pages_look_quiesced(struct look *look);
/* True if the rank at @index has not begun a collective that others have begun. */
bool pages_misses(const struct pages *p, unsigned int index);
/* pages_stall.c: note a new order. */
void pages_stall_begin(struct pages *p);
/* Note that a target was raised. */
void pages_moved(struct pages *p);
/* A rank is behind: raise STATUS_STALLS if that lasts and the rank waits for a message. */
void pages_stalled(struct pages *p);
/* Ranks were asked an instant ago: one that has not answered yet does not count as mute. */
bool pages_were_just_asked(const struct pages *p);
/* If any node raised STATUS_STALLS, give held ranks here targets. True: that is not over. */
bool pages_let_on(struct pages *p);
/* pages_open.c: forget which counts were reported. */
void pages_forget_counts(struct pages *p);
/* pages_doing.c: for a rank outside MPI, name a call it has not begun and a rank that has. */
void pages_name_missed(const struct pages *p, unsigned int index, struct shim_wait *wait);

#endif /* STILLPOINT_SHIM_PAGES_PRIV_H */
