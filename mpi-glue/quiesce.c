// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of the application at the gate of MPI; who opens and closes it is glue_thread.c.
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

/* For a lower half that another thread has, or that a restart loads anew. */
#define ABORT_PATIENCE_MS	2000

__thread struct glue_thread glue_self = { .unknown = 1, .peer = -1 };

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
	self->unknown = 1;	/* another destructor may call MPI */
	glue_unlock(&glue.threads_lock);
}

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
	pthread_key_create(&thread_key, thread_leaves);
}

/* Each of them, as two may come first at the same time. */
void quiesce_several(unsigned int call)
{
	if (!glue.multiple || __atomic_load_n(&glue.callers, __ATOMIC_SEQ_CST) < 2)
		return;
	glue.several = true;
	glue_refuse(call, "more than one thread calls MPI (MPI_THREAD_MULTIPLE)");
}

__attribute__((noinline, cold)) void quiesce_join(unsigned int call)
{
	pthread_once(&thread_once, make_key);
	pthread_setspecific(thread_key, &glue_self);
	glue_lock(&glue.threads_lock);
	glue_self.next = glue.threads;
	glue_self.prev = &glue.threads;
	if (glue_self.next)
		glue_self.next->prev = &glue_self.next;
	glue.threads = &glue_self;
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

/* From a safe point, or a call's beginning, to where the lower half may be called. */
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

static void publish_in_collective(uint32_t n)
{
	__atomic_store_n(&glue.page->answer.in_collective, n, __ATOMIC_RELEASE);
}

bool quiesce_try_begin(struct call_mark *mark, struct counter *counter)
{
	bool may;

	/* as on the fast way: counted before it is asked whether one may */
	collective_count(counter);
	if (!(hold_now() & HOLD_COLL))
		return true;
	may = collective_may_begin(counter);
	if (may) {
		mark->collective = 1;
		publish_in_collective(__atomic_add_fetch(&glue.in_collective, 1,
							 __ATOMIC_SEQ_CST));
	} else {
		/* listed though not begun: nobody can tell a target of what is not in the page */
		collective_uncount(counter);
	}
	collective_publish_one(counter);
	quiesce_publish();
	return may;
}

bool quiesce_may_count(struct counter *counter)
{
	if (hold_now() & HOLD_ALL)
		return false;
	/* first, so that the glue thread sees it, or we the hold */
	collective_count(counter);
	if (!(hold_now() & HOLD_COLL))
		return true;
	if (!collective_may_begin(counter)) {
		collective_uncount(counter);
		return false;
	}
	collective_publish_one(counter);
	quiesce_publish();
	return true;
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

/* Not inlined: this thread's first call, or a hold. */
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
	/* not begun yet: the page must not say so when we are no straggler any more */
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
	publish_in_collective(__atomic_sub_fetch(&glue.in_collective, 1, __ATOMIC_SEQ_CST));
	mark->collective = 0;
	quiesce_publish();
}

/* Uncounted first: who is in no collective and has counted it would pass for one who is done. */
void quiesce_retract(struct call_mark *mark, struct counter *counter)
{
	collective_uncount(counter);
	leave_collective(mark);
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
	if (!mark->outer)
		go_out(mark);
	/* loops come here instead of offering the processor themselves */
	sched_yield();
	if (!mark->outer)
		come_in(mark);
}

/* Marked first, so that the glue thread does not take the library once more. */
bool quiesce_abort(unsigned int call)
{
	static const struct timespec step = { .tv_nsec = 1000000 };
	/* of a callback, or of a call that failed */
	bool inside = glue_self.call && !glue_self.safe;

	if (glue_self.unknown)
		quiesce_join(call);
	if (inside)
		return true;
	__atomic_store_n(&glue_self.safe, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&glue_self.call, call + 1, __ATOMIC_SEQ_CST);
	for (int ms = 0; ms < ABORT_PATIENCE_MS; ms++) {
		if (glue.several)
			return true;
		if (quiesce_library_trylock()) {
			if (!(hold_now() & HOLD_CUT))
				return true;
			quiesce_library_unlock();
		}
		nanosleep(&step, NULL);
	}
	return false;
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
 * A thread that waits for a message goes in and out under a hold; counted, it would make
 * moments rare at which no rank has any.
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

void quiesce_publish_wait(struct status_wait *wait)
{
	wait->writing++;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	wait->call = wait->held = 0;
	wait->name[0] = '\0';
	wait->peer = STATUS_NONE;
	wait->comm = wait->seq = 0;
	glue_lock(&glue.threads_lock);
	for (const struct glue_thread *t = glue.threads; t; t = t->next) {
		uint32_t call = __atomic_load_n(&t->call, __ATOMIC_RELAXED);
		const struct counter *counter = t->counter_call == call ? t->counter : NULL;

		if (!call)
			continue;
		wait->call = (uint16_t)(call - 1);
		snprintf(wait->name, sizeof(wait->name), "%s", call_symbol[call - 1] + 1);
		wait->held = t->gathers ? STATUS_GATHERS : t->safe ? STATUS_HELD : 0;
		wait->peer = t->peer < 0 ? STATUS_NONE : (uint32_t)t->peer;
		wait->tag = t->tag;
		/* whoever meets without a communicator waits for none */
		wait->comm = counter && counter->slot != COUNTER_MEETING ? counter->id : 0;
		wait->seq = counter ? counter->seq + t->gathers : 0;
		break;
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
