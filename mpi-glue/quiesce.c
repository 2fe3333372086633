// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of the application at the gate of MPI; glue_thread.c opens and closes the gate.
 *
 * Owns the list of threads that ever called MPI, the gate, and the library's lock.  A thread is
 * inside, or at a safe point with nothing of the lower half in hand (quiesce.h).
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/quiesce_priv.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

/* How long MPI_Abort waits for a lower half that another thread uses or a restart loads anew. */
#define ABORT_PATIENCE_MS	2000

/* The entry of threads that have none of their own yet; nobody reads it. */
static struct status_thread unshown;
__thread struct glue_thread glue_self = {
	.unknown = 1, .peer = -1, .shown = &unshown, .ring = &glue.unread,
};

static uint32_t hold_now(void)
{
	return __atomic_load_n(&glue.hold, __ATOMIC_SEQ_CST);
}

static void thread_leaves(void *arg)
{
	struct glue_thread *self = arg;

	glue_lock(&glue.threads_lock);
	*self->prev = self->next;
	if (self->next)
		self->next->prev = self->prev;
	progress_leave(self);
	self->unknown = 1;	/* another destructor may call MPI */
	glue_unlock(&glue.threads_lock);
}

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void quiesce_make_key(void)
{
	pthread_key_create(&thread_key, thread_leaves);
}

static void refuse_several(unsigned int call)
{
	if (__atomic_load_n(&glue.several, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&glue.counts_shared, __ATOMIC_SEQ_CST))
		glue_refuse(call, "more than one thread calls MPI (MPI_THREAD_MULTIPLE), and there "
				  "was a file or a window");
}

/* Every thread's first call checks, as two threads may come first at the same time. */
void quiesce_several(unsigned int call)
{
	if (!glue.multiple || __atomic_load_n(&glue.callers, __ATOMIC_SEQ_CST) < 2)
		return;
	__atomic_store_n(&glue.several, true, __ATOMIC_SEQ_CST);
	refuse_several(call);
}

void quiesce_shares_count(unsigned int call)
{
	__atomic_store_n(&glue.counts_shared, true, __ATOMIC_SEQ_CST);
	refuse_several(call);
}

__attribute__((noinline, cold)) void quiesce_join(unsigned int call)
{
	pthread_once(&thread_once, quiesce_make_key);
	pthread_setspecific(thread_key, &glue_self);
	glue_lock(&glue.threads_lock);
	glue_self.next = glue.threads;
	glue_self.prev = &glue.threads;
	if (glue_self.next)
		glue_self.next->prev = &glue_self.next;
	glue.threads = &glue_self;
	progress_join();
	glue_self.unknown = 0;
	glue.callers++;
	glue_unlock(&glue.threads_lock);
	quiesce_several(call);
}

static void wait_gate(uint32_t seen)
{
	quiesce_futex(&glue.gate, FUTEX_WAIT_PRIVATE, seen, NULL);
}

void quiesce_open_gate(void)
{
	__atomic_add_fetch(&glue.gate, 1, __ATOMIC_SEQ_CST);
	quiesce_futex(&glue.gate, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

static void go_out(struct call_mark *mark)
{
	__atomic_store_n(&glue_self.safe, 1, __ATOMIC_SEQ_CST);
	if (mark->locked)
		quiesce_library_unlock();
	mark->locked = 0;
}

/* Go from a safe point, or a call's beginning, to where the lower half may be called. */
static void come_in(struct call_mark *mark)
{
	for (;;) {
		uint32_t gate = __atomic_load_n(&glue.gate, __ATOMIC_SEQ_CST);

		if (hold_now() & HOLD_ALL) {
			wait_gate(gate);
			continue;
		}
		if (!glue.several) {
			if (!quiesce_library_trylock()) {
				sched_yield();
				continue;
			}
			mark->locked = 1;
		}
		/* pairs with the glue thread's store to hold and load of safe */
		__atomic_store_n(&glue_self.epoch, glue.epoch, __ATOMIC_SEQ_CST);
		__atomic_store_n(&glue_self.safe, 0, __ATOMIC_SEQ_CST);
		if (!(hold_now() & HOLD_ALL))
			return;
		go_out(mark);
	}
}

bool quiesce_try_begin(struct call_mark *mark, struct counter *counter)
{
	uint32_t *in_collective = glue.page ? &glue.page->answer.in_collective : NULL;
	enum asked asked = collective_ask(counter, in_collective);

	if (asked == ASKED_TOLD)
		mark->collective = 1;
	if (asked != ASKED_FREE)
		quiesce_publish();
	return asked != ASKED_HELD;
}

bool quiesce_may_count(struct counter *counter)
{
	enum asked asked;

	if (hold_now() & HOLD_ALL)
		return false;
	asked = collective_ask(counter, NULL);
	if (asked == ASKED_TOLD)
		quiesce_publish();
	return asked != ASKED_HELD;
}

uint32_t quiesce_gate(void)
{
	return __atomic_load_n(&glue.gate, __ATOMIC_SEQ_CST);
}

static void begin_collective(struct call_mark *mark, struct counter *counter)
{
	for (;;) {
		uint32_t gate = quiesce_gate();

		come_in(mark);
		if (quiesce_try_begin(mark, counter))
			return;
		go_out(mark);
		wait_gate(gate);
	}
}

void quiesce_wait(struct call_mark *mark, uint32_t gate)
{
	go_out(mark);
	wait_gate(gate);
	come_in(mark);
}

/* The slow way into a call, not inlined: this thread's first call, or a hold. */
__attribute__((noinline, cold)) void quiesce_begin(struct call_mark *mark, unsigned int call,
						   struct counter *counter)
{
	if (glue_self.unknown)
		quiesce_join(call);
	if (!hold_now())
		return;
	if (mark->outer) {	/* the call around it is inside already */
		if (counter && (glue.hold & HOLD_COLL)) {
			collective_publish_one(counter);
			quiesce_publish();
		}
		return;
	}
	glue_self.counter = counter;
	/* not begun yet: the page must not count it as begun once we are no straggler any more */
	if (counter)
		collective_uncount(counter);
	__atomic_store_n(&glue_self.safe, 1, __ATOMIC_SEQ_CST);
	if (counter)
		begin_collective(mark, counter);
	else
		come_in(mark);
}

static void leave_collective(struct call_mark *mark)
{
	__atomic_sub_fetch(&glue.page->answer.in_collective, 1, __ATOMIC_SEQ_CST);
	mark->collective = 0;
	quiesce_publish();
}

/*
 * Uncount before leaving: a thread that is in no collective but has counted one would look as if
 * it had completed the collective.
 */
void quiesce_retract(struct call_mark *mark, struct counter *counter)
{
	collective_uncount(counter);
	leave_collective(mark);
}

/* The rank may be behind again, so a thread held before a collective may now begin it. */
void quiesce_not_begun(struct call_mark *mark, struct counter *counter)
{
	if (mark->collective) {
		quiesce_retract(mark, counter);
	} else {
		collective_uncount(counter);
		quiesce_publish();
	}
	quiesce_open_gate();
}

__attribute__((noinline, cold)) void quiesce_end(struct call_mark *mark)
{
	if (mark->collective)
		leave_collective(mark);
	if (mark->locked)
		quiesce_library_unlock();
	glue_self.counter = NULL;
}

__attribute__((noinline, cold)) void quiesce_safe_point(struct call_mark *mark)
{
	static const struct timespec step = { .tv_nsec = 50000 };
	uint32_t gate = quiesce_gate();

	if (!mark->outer)
		go_out(mark);
	/*
	 * Loops come here instead of yielding the processor themselves. If only the library's own
	 * lock keeps threads apart, threads that test again and again keep that lock from the glue
	 * thread and from threads that are behind.
	 */
	if (glue.several && hold_now())
		quiesce_futex(&glue.gate, FUTEX_WAIT_PRIVATE, gate, &step);
	else
		sched_yield();
	if (!mark->outer)
		come_in(mark);
}

/* Set the thread's mark before waiting, so that the glue thread does not take the library again. */
bool quiesce_abort(unsigned int call)
{
	static const struct timespec step = { .tv_nsec = 1000000 };
	/* called from a callback, or from a call that failed */
	bool inside = glue_self.call && !glue_self.safe;

	if (glue_self.unknown)
		quiesce_join(call);
	if (inside)
		return true;
	__atomic_store_n(&glue_self.safe, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&glue_self.call, call + 1, __ATOMIC_SEQ_CST);
	for (int ms = 0; ms < ABORT_PATIENCE_MS; ms++) {
		if (quiesce_library_trylock()) {
			if (!(hold_now() & HOLD_CUT))
				return true;
			quiesce_library_unlock();
		}
		nanosleep(&step, NULL);
	}
	/*
	 * another thread may hold the lock in a collective that it began when it was alone: then
	 * the glue thread does not hold it
	 */
	return glue.several && !(hold_now() & HOLD_CUT);
}

void quiesce_keep_library(struct call_mark *mark)
{
	while (!mark->locked) {
		mark->locked = quiesce_library_trylock();
		if (!mark->locked)
			sched_yield();
	}
}

static bool is_inside(const struct glue_thread *t)
{
	return __atomic_load_n(&t->call, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&t->safe, __ATOMIC_SEQ_CST);
}

unsigned int quiesce_inside(void)
{
	unsigned int n = 0;

	glue_lock(&glue.threads_lock);
	for (const struct glue_thread *t = glue.threads; t; t = t->next)
		n += is_inside(t);
	glue_unlock(&glue.threads_lock);
	return n;
}

/*
 * A thread that waits for a message goes in and out under a hold, and is not counted: otherwise
 * moments at which no rank has a straggler would be rare.
 */
unsigned int quiesce_stragglers(void)
{
	unsigned int n = 0;

	glue_lock(&glue.threads_lock);
	for (const struct glue_thread *t = glue.threads; t; t = t->next)
		n += is_inside(t) && __atomic_load_n(&t->epoch, __ATOMIC_SEQ_CST) != glue.epoch;
	glue_unlock(&glue.threads_lock);
	return n;
}

/* Return the thread's call as 1 + enum call, or 0; *@ret_counter: if collective, its counter. */
static uint32_t call_of(const struct glue_thread *t, const struct counter **ret_counter)
{
	uint32_t call = __atomic_load_n(&t->call, __ATOMIC_RELAXED);

	*ret_counter = call && t->counter_call == call ? t->counter : NULL;
	return call;
}

/*
 * Rate how much the wait of @t says about the rank; 0: @t is in no call. Other ranks may wait for
 * a collective before which @t is held. If this rank is behind, a message may be what keeps it
 * behind; if not, waits for messages say little.
 */
static int says_much(const struct glue_thread *t, bool is_behind)
{
	const struct counter *counter;

	if (!call_of(t, &counter))
		return 0;
	if (!counter)
		return is_behind ? 2 : 1;
	return t->safe ? 3 : is_behind ? 1 : 2;
}

/*
 * Choose the thread whose wait says most; among equals, another one for each order. The caller
 * holds threads_lock.
 */
static const struct glue_thread *who_waits(void)
{
	static uint32_t serial, turn;
	bool is_behind = glue.several && collective_behind();
	const struct glue_thread *best = NULL;
	unsigned int n = 0;
	int most = 0;

	if (serial != glue.page->order.serial)
		turn++;
	serial = glue.page->order.serial;
	for (const struct glue_thread *t = glue.threads; t; t = t->next) {
		int much = says_much(t, is_behind);

		n = much > most ? 0 : n;
		most = much > most ? much : most;
		n += much && much == most;
	}
	n = n ? turn % n : 0;
	for (const struct glue_thread *t = glue.threads; most && t; t = t->next) {
		int much = says_much(t, is_behind);

		/* the thread may have moved on since the first pass */
		if (!much || (best && much < most))
			continue;
		best = t;
		if (much == most && !n--)
			break;
	}
	return best;
}

void quiesce_publish_wait(struct status_wait *wait)
{
	const struct counter *counter = NULL;
	const struct glue_thread *t;
	uint32_t call;

	wait->writing++;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	wait->call = wait->held = 0;
	wait->name[0] = '\0';
	wait->peer = STATUS_NONE;
	wait->comm = wait->seq = 0;
	glue_lock(&glue.threads_lock);
	t = who_waits();
	call = t ? call_of(t, &counter) : 0;
	if (call) {
		wait->call = (uint16_t)(call - 1);
		snprintf(wait->name, sizeof(wait->name), "%s", call_symbol[call - 1] + 1);
		wait->held = t->gathers ? STATUS_GATHERS : t->safe ? STATUS_HELD : 0;
		wait->peer = t->peer < 0 ? STATUS_NONE : (uint32_t)t->peer;
		wait->tag = t->tag;
		/* a meeting has no communicator to name */
		wait->comm = counter && counter->slot != COUNTER_MEETING ? counter->id : 0;
		wait->seq = counter ? counter->seq + t->gathers : 0;
	}
	glue_unlock(&glue.threads_lock);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	wait->writing++;
}

void quiesce_publish(void)
{
	__atomic_add_fetch(&glue.page->answer.change, 1, __ATOMIC_RELEASE);
	quiesce_futex(&glue.page->answer.change, FUTEX_WAKE, INT32_MAX, NULL);
}

void quiesce_refused(void)
{
	char text[sizeof(glue.page->answer.refusal)] = "", *to;

	if (!glue.page)
		return;
	to = glue.page->answer.refusal;
	snprintf(text, sizeof(text), "%s: %s", glue.refused, glue.refused_why);
	memcpy(to + 1, text + 1, sizeof(text) - 1);
	__atomic_store_n(to, text[0], __ATOMIC_RELEASE);
	quiesce_publish();
}
