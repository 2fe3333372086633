/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Getting a rank's threads out of MPI, and keeping them out.
 *
 * Every wrapper that uses a real handle is a *call*, from its first to its last line: the
 * thread's mark is set. A thread without a mark, or at a safe point, holds nothing of the lower
 * half, whatever the application does with that thread; a cut is possible when every thread is
 * in one of these two states. (The FS base alone does not tell: between the library's return and
 * the wrapper's end a real handle lies on the stack.)
 *
 * The way in is a store and a load:
 *
 *	thread:       self.call = X; load glue.hold
 *	glue thread:  glue.hold = H; membarrier; load self.call
 *
 * membarrier() gives the thread the store-load order without a fence of its own. The glue thread
 * sees every thread that saw no hold as inside. A thread that sees a hold waits, or goes on with
 * the library's lock held, so that the glue thread can make progress for threads that compute
 * (when several threads call under MPI_THREAD_MULTIPLE the library locks by itself: the threads
 * do not wait for each other).
 *
 * A blocking call is a loop around MPI_Test in the lower half. The loop ends when the request is
 * complete or glue.hold is set; the thread is then at a safe point, its request in a slot.
 */
#ifndef MPI_GLUE_QUIESCE_H
#define MPI_GLUE_QUIESCE_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi-glue/progress.h"
#include "mpi-glue/vhandle.h"

struct counter;

/* glue.hold */
enum {
	HOLD_COLL = 1,		/* collectives ask collective_ask() */
	HOLD_ALL = 2,		/* nothing begins, loops stop */
	HOLD_CUT = 4,		/* with HOLD_ALL: there may be no lower half */
};

/* glue.kept: things that calls must look at first */
enum {
	KEPT_MESSAGES = 1,	/* drained, not yet received */
	KEPT_REQUESTS = 2,	/* completed by the glue thread, not yet told */
};

/**
 * struct glue_thread - one thread that ever called MPI
 * @call:    1 + enum call while inside; 0 outside
 * @unknown: not in the list of threads yet: the first call takes the slow way
 * @safe:    inside, and holds nothing of the lower half
 * @epoch:   epoch of the hold under which the thread was last let in; equal to glue.epoch: the
 *           thread knows of the present hold
 * @counter, @peer, @tag: what the thread waits for, shown to people; peer by world rank
 * @counter_call: the call that @counter belongs to, coded as @call; that call may be over
 * @gathers: the thread has not begun that call, as not all members have come to it (gather.h)
 * @shown: the thread's entry in the status page, or @own; never NULL
 * @kept_seen: the last result of kept_come_and_go() that the thread saw: kept messages that have
 *             come and gone
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
	struct status_thread *shown;
	struct status_ring *ring;
	struct status_thread own;
};

extern __thread struct glue_thread glue_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* State that a call must undo at its end. */
struct call_mark {
	uint32_t outer;		/* the call that runs the callback which made this call; or 0 */
	uint8_t locked;		/* the library's lock is held */
	uint8_t collective;	/* counted in the page */
};

/* The slow ways in and out; @counter: the collective's counter, already raised, or NULL. */
void quiesce_begin(struct call_mark *mark, unsigned int call, struct counter *counter);
void quiesce_end(struct call_mark *mark);

/*
 * For gather.c, called inside. If the collective may begin: count it, publish the count and
 * return true; else begin nothing. The count can be taken back until the collective has begun in
 * the lower half.
 */
bool quiesce_try_begin(struct call_mark *mark, struct counter *counter);
void quiesce_retract(struct call_mark *mark, struct counter *counter);
/* Take back the count of a collective that failed, whether the count was published or not. */
void quiesce_not_begun(struct call_mark *mark, struct counter *counter);
/*
 * If a collective that waits for nobody may begin now: count it, publish the count and return
 * true. The caller must then begin the collective.
 */
bool quiesce_may_count(struct counter *counter);
/*
 * Take @gate from quiesce_gate() before looking at the state; quiesce_wait() then holds the
 * thread until the gate has opened since.
 */
uint32_t quiesce_gate(void);
void quiesce_wait(struct call_mark *mark, uint32_t gate);

/**
 * quiesce_safe_point() - for a loop whose thread holds nothing of the lower half
 *
 * Waits while HOLD_ALL is set. The caller reads real handles from their slots again afterwards.
 */
void quiesce_safe_point(struct call_mark *mark);

/* MPI is up: start the glue thread, if there is a page. MPI_Finalize begins: end the thread. */
void quiesce_start(void);
void quiesce_stop(void);

/**
 * quiesce_abort() - MPI_Abort and calls that end like it: at any time, from anywhere, no return
 * @call: as enum call
 *
 * Does not wait at the gate, which may not open any more; waits only for the library's lock, and
 * only for a limited time. Return: true: the lower half may be called; false: there is none, end
 * the process.
 */
bool quiesce_abort(unsigned int call);

/* Number of threads inside that are at no safe point: they hold something of the lower half. */
unsigned int quiesce_inside(void);
/*
 * Number of these that came in before the hold. Threads that came in after the hold are counted
 * in the page, if they are in a collective.
 */
unsigned int quiesce_stragglers(void);

/* With MPI_THREAD_MULTIPLE: set glue.several if more than one thread has called MPI by @call. */
void quiesce_several(unsigned int call);
/*
 * @call makes a file or a window, whose collectives count on its communicator together with the
 * communicator's own. Several threads may call on the two in any order, so that equal counts say
 * nothing. Checkpoints are refused once there is both such an object and more than one calling
 * thread.
 */
void quiesce_shares_count(unsigned int call);
/* For MPI_Finalize: take the library's lock; the glue thread calls nothing any more. */
void quiesce_keep_library(struct call_mark *mark);

/* glue.refused is set: tell the page, if there is one. */
void quiesce_refused(void);

/* The page was changed: tell the shim. */
void quiesce_publish(void);

/* This thread's first call: add it to the list of threads, so that its mark is looked at. */
void quiesce_join(unsigned int call);

#define CALL_MARK(mark, nr) do { \
	(mark)->outer = glue_self.call; \
	*(volatile uint32_t *)&glue_self.call = (nr) + 1; \
	progress_call(glue_self.shown, glue_self.ring, (nr) + 1); \
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
	__atomic_store_n(&glue_self.shown->call, mark->outer, __ATOMIC_RELAXED);
}

/* First line of every wrapper: to its end the thread is inside. */
#define GLUE_CALL(name) \
	struct call_mark mark __attribute__((cleanup(call_end), unused)) = { 0 }; \
	CALL_BEGIN(&mark, CALL_##name)

/*
 * A collective is marked before it is counted: a thread that has counted it and stops there, in
 * a signal handler or for want of a processor, is then a straggler. Without the mark the page
 * would say that the thread has begun a collective before which it may yet be held. For the same
 * reason the thread is in the list before it counts.
 */
#define COLLECTIVE_BEGIN(name, counted, count) do { \
	if (unlikely(glue_self.unknown)) \
		quiesce_join(CALL_##name); \
	glue_self.counter = (counted); \
	glue_self.counter_call = CALL_##name + 1; \
	CALL_MARK(&mark, CALL_##name); \
	if (likely(counted)) { \
		count; \
		progress_collective(counted); \
	} \
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
 * First line of a collective that waits for nobody, or whose members an enclosing call has
 * gathered.
 */
#define GLUE_COLLECTIVE_NOW(name, counter_) GLUE_COUNTED_OVER(name, counter_, NULL, counted->seq++)

/* First line of a collective that waits for others; its members gather first, if wanted. */
#define GLUE_COLLECTIVE(name, counter_) \
	GLUE_COUNTED_OVER(name, counter_, counted, counted->seq++)

/*
 * First line of a meeting (meeting.c); members of the communicator of @over_ gather first, if
 * wanted and @over_ is not NULL.
 */
#define GLUE_MEETING_OVER(name, counter_, over_) \
	GLUE_COUNTED_OVER(name, counter_, over_, collective_count(counted))

#endif
