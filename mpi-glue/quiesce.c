// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of the application at the gate of MPI, and the glue thread that opens and closes it.
 *
 * The glue thread follows the orders of the status page. It calls the lower half only with
 * glue.hold set, glue.library locked and no thread inside that is neither at a safe
 * point nor waiting for that lock; so the library, initialised for serialized
 * threads at least, never has two callers that it was not promised.
 *
 * Nothing here blocks in the lower half. What does not come to an end is the shim's deadline to judge.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/drain.h"
#include "mpi-glue/rebuild.h"
#include "mpi-glue/request.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

/* Between two looks at the library while others are held. */
#define STEP_NS		50000

__thread struct glue_thread glue_self = { .unknown = 1, .peer = -1 };

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

/* All threads have seen stores from before, and we see theirs. */
static int all_threads_fence(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return -errno;
	return 0;
}

static bool library_trylock(void)
{
	return !__atomic_exchange_n(&glue.library, 1, __ATOMIC_ACQUIRE);
}

static void library_unlock(void)
{
	__atomic_store_n(&glue.library, 0, __ATOMIC_RELEASE);
}

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

static void thread_joins(void)
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
	glue_unlock(&glue.threads_lock);
}

static void wait_gate(uint32_t seen)
{
	futex(&glue.gate, FUTEX_WAIT_PRIVATE, seen, NULL);
}

static void open_gate(void)
{
	__atomic_add_fetch(&glue.gate, 1, __ATOMIC_SEQ_CST);
	futex(&glue.gate, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL);
}

static void go_out(struct call_mark *mark)
{
	__atomic_store_n(&glue_self.safe, 1, __ATOMIC_SEQ_CST);
	if (mark->locked)
		library_unlock();
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
		if (!glue.multiple) {
			if (!library_trylock()) {
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
		thread_joins();
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
		library_unlock();
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

static void publish_wait(struct status_wait *wait)
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
		wait->comm = counter ? counter->id : 0;
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
	futex(&glue.page->answer.change, FUTEX_WAKE, INT32_MAX, NULL);
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

static void say(uint32_t state)
{
	struct status_answer *answer = &glue.page->answer;

	if (answer->state == STATUS_ENDED)
		return;
	publish_wait(&answer->wait);
	__atomic_store_n(&answer->state, state, __ATOMIC_RELEASE);
	quiesce_publish();
}

static int hold(uint32_t what)
{
	__atomic_store_n(&glue.hold, what, __ATOMIC_SEQ_CST);
	return all_threads_fence();
}

static void let_go(void)
{
	__atomic_store_n(&glue.hold, 0, __ATOMIC_SEQ_CST);
	open_gate();
	say(STATUS_RUNNING);
}

static void refuse(const char *why)
{
	snprintf(glue.page->answer.text, sizeof(glue.page->answer.text), "%s", why);
	__atomic_store_n(&glue.hold, 0, __ATOMIC_SEQ_CST);
	open_gate();
	say(STATUS_REFUSED);
}

static void why_refused(char *why, size_t size)
{
	snprintf(why, size, "%s: %s", glue.refused, glue.refused_why);
}

/* Returns false when refused. */
static bool begin_quiesce(void)
{
	char why[256] = "membarrier() is missing";
	int rc;

	__atomic_add_fetch(&glue.epoch, 1, __ATOMIC_SEQ_CST);
	rc = hold(HOLD_COLL);
	if (!rc)
		collective_publish();
	if (glue.refused)
		why_refused(why, sizeof(why));
	if (rc || glue.refused) {
		refuse(why);
		return false;
	}
	glue.page->answer.stragglers = quiesce_stragglers();
	say(STATUS_QUIESCED);
	return true;
}

/* The library, if nobody else has it. */
static bool library_take(void)
{
	if (glue.multiple)
		return glue.state == GLUE_RUNNING;
	if (!library_trylock())
		return false;
	/* MPI_Finalize ends before it is no straggler any more */
	if (!quiesce_inside() && glue.state == GLUE_RUNNING)
		return true;
	library_unlock();
	return false;
}

static void library_give(void)
{
	if (!glue.multiple)
		library_unlock();
}

/* Others may need our progress while we are held or compute. */
LOWER_TEXT static void progress(void)
{
	int flag;

	if (!library_take())
		return;
	lower_MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, real_comm(MPI_COMM_WORLD), &flag,
			 MPI_STATUS_IGNORE);
	if (glue.leaving)
		orphans_look();
	library_give();
}

static void publish_counts(const uint64_t *from, uint64_t *to)
{
	for (int i = 0; i < glue.world_size; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static void step_drain(uint32_t *state)
{
	struct status_answer *answer = &glue.page->answer;
	unsigned int pending;

	if (glue.multiple ? quiesce_inside() : !library_take())
		return;
	if (*state == STATUS_QUIESCED) {
		publish_counts(glue.sent, status_sent(glue.page));
		*state = STATUS_DRAINING;
	}
	drain_step();
	pending = drain_pending();
	publish_counts(glue.received, status_received(glue.page));
	__atomic_store_n(&answer->pending, pending, __ATOMIC_RELEASE);
	library_give();
	say(*state);
}

/* Everything is done below, and what only the lower half knows is noted. */
static void step_cut(uint32_t *state)
{
	char why[256] = "out of memory";

	if (glue.multiple ? quiesce_inside() : !library_take())
		return;
	drain_step();
	if (drain_pending()) {
		library_give();
		return;
	}
	/* calls that ranks made to catch up may have been of that kind */
	if (glue.refused)
		why_refused(why, sizeof(why));
	if (glue.refused || rebuild_ask(why, sizeof(why))) {
		library_give();
		*state = STATUS_REFUSED;
		refuse(why);
		return;
	}
	library_give();
	if (status_tell_lower()) {
		*state = STATUS_REFUSED;
		refuse("the MPI library has more descriptors and threads than the status page has room for");
		return;
	}
	wtime_cut();
	*state = STATUS_SILENT;
	say(STATUS_SILENT);
}

static void resume(uint32_t *state)
{
	struct status_order *order = &glue.page->order;
	char why[256] = "";

	if (*state == STATUS_SILENT && order->run != glue.run) {
		wtime_resume();
		say(STATUS_REBUILDING);
		if (rebuild(order->restart == STATUS_UNLOAD, order->environment, why,
			    sizeof(why))) {
			snprintf(glue.page->answer.text, sizeof(glue.page->answer.text), "%s", why);
			*state = STATUS_BROKEN;
			say(STATUS_BROKEN);
			return;
		}
	}
	rebuild_forget();
	glue.run = order->run;
	*state = STATUS_RUNNING;
	let_go();
}

/*
 * Ordered to quiesce, and beyond that: there was an order to run that this thread never saw, as it
 * got no processor before the next. (Of who refused this very order it is not so, and it will again.)
 */
static bool is_of_before(uint32_t state)
{
	return state == STATUS_DRAINING || state == STATUS_SILENT || state == STATUS_REFUSED;
}

/* One look at the orders; true when there is more to do without a new one. */
static bool follow(uint32_t *state, uint32_t intent)
{
	struct status_answer *answer = &glue.page->answer;

	if (intent == STATUS_RUN) {
		if (*state != STATUS_RUNNING && *state != STATUS_BROKEN)
			resume(state);
		return false;
	}
	if (intent == STATUS_QUIESCE && is_of_before(*state))
		resume(state);
	if (*state == STATUS_REFUSED || *state == STATUS_SILENT || *state == STATUS_BROKEN)
		return false;
	if (*state == STATUS_RUNNING) {
		if (!begin_quiesce()) {
			*state = STATUS_REFUSED;
			return false;
		}
		*state = STATUS_QUIESCED;
	}
	if (intent == STATUS_QUIESCE) {
		__atomic_store_n(&answer->stragglers, quiesce_stragglers(), __ATOMIC_RELEASE);
		publish_wait(&answer->wait);
		progress();
		return true;
	}
	if (!(glue.hold & HOLD_ALL))
		hold(HOLD_COLL | HOLD_ALL);
	if (intent == STATUS_DRAIN || *state == STATUS_QUIESCED)
		step_drain(state);
	else
		step_cut(state);
	return *state != STATUS_SILENT && *state != STATUS_REFUSED;
}

static void *glue_thread(void *arg)
{
	static const struct timespec step = { .tv_nsec = STEP_NS };
	struct status_order *order = &glue.page->order;
	uint32_t state = STATUS_RUNNING;

	/* never held itself, and not among those it looks for */
	glue_self.unknown = 0;
	glue_self.call = 1;
	for (;;) {
		uint32_t serial = __atomic_load_n(&order->serial, __ATOMIC_ACQUIRE);
		bool more;

		if (__atomic_load_n(&glue.state, __ATOMIC_ACQUIRE) == GLUE_ENDED)
			break;
		more = follow(&state, order->intent);
		if (glue.page->answer.seen != serial) {
			publish_wait(&glue.page->answer.wait);
			__atomic_store_n(&glue.page->answer.seen, serial, __ATOMIC_RELEASE);
			open_gate();	/* targets may have been raised */
			quiesce_publish();
		}
		futex(&order->serial, FUTEX_WAIT, serial, more ? &step : NULL);
	}
	return arg;
}

void quiesce_start(void)
{
	struct status_answer *answer;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	if (!glue.page)
		return;
	answer = &glue.page->answer;
	answer->world_rank = (uint32_t)glue.world_rank;
	glue.run = glue.page->order.run;
	if (glue.refused)
		quiesce_refused();
	say(STATUS_RUNNING);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, glue_thread, NULL))
		refuse("no thread could be made for it");
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* MPI_Finalize has begun, as a call like others: an order that came first was followed first. */
void quiesce_stop(void)
{
	if (glue.page)
		say(STATUS_ENDED);
}
