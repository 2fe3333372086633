/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Getting a rank's threads out of MPI, and keeping them out.
 *
 * Every wrapper that takes a real handle in hand is a *call*, from its first to its last line:
 * the thread's mark is set. A thread without a mark, or at a safe point, holds nothing of the lower
 * half, whatever the application does with it; a cut is possible when all are so.
 * (The FS base alone does not tell: between the library's return and the wrapper's end
 * a real handle lies on the stack.)
 *
 * The way in is a store and a load:
 *
 *	thread: self.call = X; load glue.hold      glue thread: glue.hold = H; membarrier; load
 *	self.call
 *
 * membarrier() is the pair of the store-load order that the thread does not pay for. Who sees no
 * hold is seen inside; who sees one waits, or goes on with the library's lock held, so
 * that the glue thread can make progress for those who compute (when several threads
 * call under MPI_THREAD_MULTIPLE the library locks by itself: they do not wait for each other).
 *
 * A blocking call is a loop around MPI_Test in the lower half that ends when it is done or
 * glue.hold is set; it then lies at a safe point, its request in a slot.
 */
#ifndef MPI_GLUE_QUIESCE_H
#define MPI_GLUE_QUIESCE_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi-glue/vhandle.h"

struct counter;

/* glue.hold */
enum {
	HOLD_COLL = 1,		/* collectives ask collective_ask() */
	HOLD_ALL = 2,		/* nothing begins, loops stop */
	HOLD_CUT = 4,		/* with HOLD_ALL: there may be no lower half */
};

/* glue.kept: what calls must look at first */
enum {
	KEPT_MESSAGES = 1,	/* drained, not yet received */
	KEPT_REQUESTS = 2,	/* completed by the glue thread, not yet told */
};

/**
 * struct glue_thread - one thread that ever called MPI
 * @call:    1 + enum call while inside; 0 outside
 * @unknown: not in the list yet: the first call takes the slow way
 * @safe:    inside, and nothing of the lower half in hand
 * @epoch:   of the hold under which it was last let in; glue.epoch: it knows of this one
 * @counter, @peer, @tag: what it waits for, for people; peer by world rank
 * @counter_call: as @call, of the call that @counter is of; it may be over
 * @gathers: it has not begun that call, as not all members have come to it (gather.h)
 * @kept_seen: kept messages that have come and gone, as it was told last: kept_come_and_go()
 */
struct glue_thread {
	uint32_t call;
	uint32_t unknown;
	uint32_t safe;
	uint32_t epoch;
	int32_t peer, tag;
	const struct counter *counter;
	uint32_t counter_call;
	uint32_t gathers, kept_seen;
	struct glue_thread *next, **prev;
};

extern __thread struct glue_thread glue_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What a call must undo at its end. */
struct call_mark {
	uint32_t outer;		/* the call around this one, of callbacks */
	uint8_t locked;		/* the library's lock is held */
	uint8_t collective;	/* counted in the page */
};

/* The slow ways in and out; @counter of collectives, already counted, or NULL. */
void quiesce_begin(struct call_mark *mark, unsigned int call, struct counter *counter);
void quiesce_end(struct call_mark *mark);

/*
 * For gather.c, inside. Count a collective and tell it, if it may begin; else nothing is begun.
 * What was counted can be taken back until it has begun below.
 */
bool quiesce_try_begin(struct call_mark *mark, struct counter *counter);
void quiesce_retract(struct call_mark *mark, struct counter *counter);
/* The same of what has failed, whether it was told or not. */
void quiesce_not_begun(struct call_mark *mark, struct counter *counter);
/* Count a collective that waits for nobody, and tell it, if it may be begun now; begin it then. */
bool quiesce_may_count(struct counter *counter);
/* Held until there is something new since @gate was asked for, before one looked. */
uint32_t quiesce_gate(void);
void quiesce_wait(struct call_mark *mark, uint32_t gate);

/**
 * quiesce_safe_point() - in a loop, nothing of the lower half in hand
 *
 * Waits while HOLD_ALL is set. Real handles are read anew from their slots afterwards.
 */
void quiesce_safe_point(struct call_mark *mark);

/* MPI is up: start the glue thread, if there is a page. MPI_Finalize begins: end it. */
void quiesce_start(void);
void quiesce_stop(void);

/**
 * quiesce_abort() - MPI_Abort, and what ends like it: at any time, from anywhere, never back
 * @call: as enum call
 *
 * Nothing is waited for at the gate, which may not open any more: not long, and for the library
 * alone. Return: the lower half may be called; false: there is none, end the process.
 */
bool quiesce_abort(unsigned int call);

/* Threads inside that are at no safe point: they have something of the lower half in hand. */
unsigned int quiesce_inside(void);
/* Of these, who came in before the hold. Who came after it is in the page, if in a collective. */
unsigned int quiesce_stragglers(void);

/* Of MPI_THREAD_MULTIPLE: notices in @call whether more than one thread has called. */
void quiesce_several(unsigned int call);
/*
 * @call makes what counts on a communicator beside it, a file or a window: several threads may
 * call on the one and the other in any order, so that equal counts say nothing. Refused from
 * 	when both is so.
 */
void quiesce_shares_count(unsigned int call);
/* In MPI_Finalize: the glue thread calls nothing any more. */
void quiesce_keep_library(struct call_mark *mark);

/* glue.refused is set: tell the page, if there is one. */
void quiesce_refused(void);

/* The page was changed: tell the shim. */
void quiesce_publish(void);

/* This thread's first call: in the list, so that its mark is looked at. */
void quiesce_join(unsigned int call);

#define CALL_MARK(mark, nr) do { \
	(mark)->outer = glue_self.call; \
	*(volatile uint32_t *)&glue_self.call = (nr) + 1; \
	__asm__ volatile("" : : : "memory"); \
} while (0)

#define CALL_BEGIN(mark, nr) do { \
	CALL_MARK(mark, nr); \
	if (unlikely(*(volatile uint32_t *)&glue.hold | glue_self.unknown)) \
		quiesce_begin(mark, nr, NULL); \
} while (0)

static inline __attribute__((always_inline)) void call_end(struct call_mark *mark)
{
	if (unlikely(mark->locked | mark->collective))
		quiesce_end(mark);
	__asm__ volatile("" : : : "memory");
	*(volatile uint32_t *)&glue_self.call = mark->outer;
}

/* First line of every wrapper: to its end the thread is inside. */
#define GLUE_CALL(name) \
	struct call_mark mark __attribute__((cleanup(call_end), unused)) = { 0 }; \
	CALL_BEGIN(&mark, CALL_##name)

/*
 * Of a collective, marked first: who has counted it and stops there, in a signal's handler or
 * for want of a processor, is a straggler. Without the mark the page would say that it has
 * begun what it may be held before. For the same reason a thread is in the list before.
 */
#define COLLECTIVE_BEGIN(name, counted, count) do { \
	if (unlikely(glue_self.unknown)) \
		quiesce_join(CALL_##name); \
	glue_self.counter = (counted); \
	glue_self.counter_call = CALL_##name + 1; \
	CALL_MARK(&mark, CALL_##name); \
	if (likely(counted)) \
		count; \
	__asm__ volatile("" : : : "memory"); \
	if (unlikely(*(volatile uint32_t *)&glue.hold)) \
		quiesce_begin(&mark, CALL_##name, counted); \
} while (0)

#define GLUE_COUNTED_OVER(name, counter_, over_, count) \
	struct call_mark mark __attribute__((cleanup(call_end), unused)) = { 0 }; \
	do { \
		struct counter *counted = (counter_), *gathered = (over_); \
		if (unlikely(glue.gathers) && likely(gathered)) { \
			glue_self.counter_call = CALL_##name + 1; \
			gather_begin(&mark, CALL_##name, counted, gathered); \
			break; \
		} \
		COLLECTIVE_BEGIN(name, counted, count); \
	} while (0)

/*
 * First line of a collective that waits for nobody, or that something around it has gathered
 * for.
 */
#define GLUE_COLLECTIVE_NOW(name, counter_) GLUE_COUNTED_OVER(name, counter_, NULL, counted->seq++)

/* Of one that waits for others; those of the communicator gather first, if wanted. */
#define GLUE_COLLECTIVE(name, counter_) \
	GLUE_COUNTED_OVER(name, counter_, counted, counted->seq++)

/* Of a meeting; those of the communicator of @over_ gather first, if wanted and it is not NULL. */
#define GLUE_MEETING_OVER(name, counter_, over_) \
	GLUE_COUNTED_OVER(name, counter_, over_, collective_count(counted))

#endif
