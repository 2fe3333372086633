// SPDX-License-Identifier: GPL-2.0-only
/*
 * The glue thread, which opens and closes the gate of MPI.
 *
 * The glue thread follows the orders in the status page. It calls the lower half only with
 * glue.hold set, glue.library locked and, unless several threads call anyway (glue.several), no
 * thread inside that is neither at a safe point nor waiting for that lock; so the library,
 * initialised for serialized threads at least, never has two callers at a time against its level.
 *
 * Nothing here blocks in the lower half. The shim's deadline decides about work that does not end.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/drain.h"
#include "mpi-glue/own.h"
#include "mpi-glue/quiesce_priv.h"
#include "mpi-glue/rebuild.h"
#include "mpi-glue/request.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

/* Time between two steps of progress in the library while threads are held. */
#define STEP_NS		50000
/* Number of polls in each step. */
#define POLLS_AT_ONCE	50
/* First and longest wait for a rank with several threads that is behind and begins nothing. */
#define STUCK_NS	5000000
#define STUCK_MAX_NS	250000000
/* Number of looks at sends that were cancelled, before a drain. */
#define CANCEL_LOOKS	100

/* A fence on all threads: they see this thread's earlier stores, and this thread sees theirs. */
static int all_threads_fence(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return -errno;
	return 0;
}

/*
 * Write the state into the page. Two threads do that: the glue thread, and the thread in
 * MPI_Finalize, which has the last word.
 */
static void glue_thread_say(uint32_t state)
{
	struct status_answer *answer = &glue.page->answer;

	glue_lock(&glue.saying);
	quiesce_publish_wait(&answer->wait);
	if (answer->state != STATUS_ENDED)
		__atomic_store_n(&answer->state, state, __ATOMIC_RELEASE);
	glue_unlock(&glue.saying);
	quiesce_publish();
}

static void say_wait(void)
{
	glue_lock(&glue.saying);
	quiesce_publish_wait(&glue.page->answer.wait);
	glue_unlock(&glue.saying);
}

static int glue_thread_hold(uint32_t what)
{
	__atomic_store_n(&glue.hold, what, __ATOMIC_SEQ_CST);
	return all_threads_fence();
}

/* Write the state before opening the gate: a thread that is let go may write a newer state. */
static void let_go(void)
{
	glue_thread_say(STATUS_RUNNING);
	__atomic_store_n(&glue.hold, 0, __ATOMIC_SEQ_CST);
	quiesce_open_gate();
}

static void glue_thread_refuse(const char *why)
{
	snprintf(glue.page->answer.text, sizeof(glue.page->answer.text), "%s", why);
	__atomic_store_n(&glue.hold, 0, __ATOMIC_SEQ_CST);
	quiesce_open_gate();
	glue_thread_say(STATUS_REFUSED);
}

static bool is_refused(char *why, size_t size)
{
	if (glue.refused)
		snprintf(why, size, "%s: %s", glue.refused, glue.refused_why);
	else if (!collective_all_listed())
		snprintf(why, size, "there are more communicators than the status page holds");
	else
		return false;
	return true;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/*
 * With several threads, those that are behind a target go on first. If none of them makes progress,
 * a thread may be waiting outside MPI for a held one: then each held thread may begin one
 * collective. That raises targets elsewhere, so each such wait is longer than the last.
 * @since: last progress; @ns: time to wait from then; @told: glue.told at that time
 */
static struct patience {
	int64_t since, ns;
	uint32_t told;
} patience;

static void look_stuck(void)
{
	struct patience *p = &patience;
	int64_t now = now_ns();
	uint32_t told = __atomic_load_n(&glue.told, __ATOMIC_RELAXED);

	if (!glue.several)
		return;
	if (told != p->told || !collective_behind()) {
		__atomic_store_n(&glue.stuck, 0, __ATOMIC_SEQ_CST);
		p->told = told;
		p->since = now;
	} else if (!glue.stuck && now > p->since + p->ns) {
		p->ns = p->ns < STUCK_MAX_NS ? p->ns + p->ns / 2 : p->ns;
		__atomic_store_n(&glue.stuck, 1, __ATOMIC_SEQ_CST);
		quiesce_open_gate();
	}
}

/* Returns false when refused. */
static bool begin_quiesce(void)
{
	char why[256] = "membarrier() is missing";
	int rc;

	glue.stuck = 0;
	patience = (struct patience){ .since = now_ns(), .ns = STUCK_NS, .told = glue.told };
	rc = glue_thread_hold(HOLD_COLL);
	/* after the hold: a thread with this number was let in under it, and is no straggler */
	__atomic_add_fetch(&glue.epoch, 1, __ATOMIC_SEQ_CST);
	if (!rc)
		collective_publish();
	if (is_refused(why, sizeof(why)) || rc) {
		glue_thread_refuse(why);
		return false;
	}
	glue.page->answer.stragglers = quiesce_stragglers();
	glue_thread_say(STATUS_QUIESCED);
	return true;
}

/*
 * Take the library's lock if it is free. @alone: only if no thread is inside either, as all are
 * to be held. When several threads call, they are inside without the lock; MPI_Abort and
 * MPI_Finalize always take it.
 */
static bool library_take(bool alone)
{
	bool several = __atomic_load_n(&glue.several, __ATOMIC_ACQUIRE);

	if (!quiesce_library_trylock())
		return false;
	/* in this order: MPI_Finalize changes the state before its thread stops being inside */
	if (((several && !alone) || !quiesce_inside()) &&
	    __atomic_load_n(&glue.state, __ATOMIC_ACQUIRE) == GLUE_RUNNING)
		return true;
	quiesce_library_unlock();
	return false;
}

static void library_give(void)
{
	quiesce_library_unlock();
}

/*
 * Make progress, which other ranks may need, perhaps for thousands of messages. One poll may
 * take long if many messages wait here, so the time is limited as well.
 */
LOWER_TEXT static void poll_below(void)
{
	int flag, n = POLLS_AT_ONCE, tag = quiet_tag();
	MPI_Comm world = real_comm(MPI_COMM_WORLD);
	int64_t end = now_ns() + STEP_NS / 2;

	while (n-- && now_ns() < end)
		lower_MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &flag, MPI_STATUS_IGNORE);
}

/* Make progress in the library while this rank's threads are held or compute. */
static void glue_thread_progress(void)
{
	if (!library_take(false))
		return;
	poll_below();
	if (glue.leaving)
		orphans_look();
	library_give();
}

static void publish_counts(const uint64_t *from, uint64_t *to)
{
	for (int i = 0; i < glue.world_size; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

/*
 * Publish the counts of sent messages, once in a drain: so sends that were cancelled are looked
 * at before. The number of looks is limited: Open MPI cancels no send, and the receiver gets the
 * message like others.
 */
static void publish_sent(void)
{
	for (int n = CANCEL_LOOKS; n-- && drain_cancelled();)
		poll_below();
	publish_counts(glue.sent, status_sent(glue.page));
}

static void step_drain(uint32_t *state)
{
	struct status_answer *answer = &glue.page->answer;
	unsigned int pending;
	char why[256];

	if (!library_take(true))
		return;
	/*
	 * a call that this rank made to catch up may have caused a refusal; requests of files of
	 * several threads must not be tested here
	 */
	if (is_refused(why, sizeof(why))) {
		library_give();
		*state = STATUS_REFUSED;
		glue_thread_refuse(why);
		return;
	}
	if (*state == STATUS_QUIESCED) {
		publish_sent();
		*state = STATUS_DRAINING;
	}
	drain_step();
	pending = drain_pending();
	if (!pending)
		poll_below();
	publish_counts(glue.received, status_received(glue.page));
	__atomic_store_n(&answer->pending, pending, __ATOMIC_RELEASE);
	library_give();
	glue_thread_say(*state);
}

/* When nothing is pending in the lower half, note what only the lower half knows, and cut. */
static void step_cut(uint32_t *state)
{
	char why[256] = "out of memory";

	if (!library_take(true))
		return;
	drain_step();
	if (drain_pending()) {
		library_give();
		return;
	}
	/* calls that ranks made to catch up may have caused a refusal */
	if (is_refused(why, sizeof(why)) || rebuild_ask(why, sizeof(why))) {
		rebuild_forget();	/* drop the notes while nobody can free the objects */
		library_give();
		*state = STATUS_REFUSED;
		glue_thread_refuse(why);
		return;
	}
	/* set it before the lock is given back: MPI_Abort reads glue.hold with the lock held */
	__atomic_or_fetch(&glue.hold, HOLD_CUT, __ATOMIC_SEQ_CST);
	library_give();
	if (status_tell_lower()) {
		rebuild_forget();
		*state = STATUS_REFUSED;
		glue_thread_refuse("the MPI library has more descriptors and threads than the "
				   "status page has room for");
		return;
	}
	wtime_cut();
	*state = STATUS_SILENT;
	glue_thread_say(STATUS_SILENT);
}

static void glue_thread_resume(uint32_t *state)
{
	struct status_order *order = &glue.page->order;
	char why[256] = "";

	if (*state == STATUS_SILENT && order->run != glue.run) {
		wtime_resume();
		glue_thread_say(STATUS_REBUILDING);
		if (rebuild_all(order->restart == STATUS_UNLOAD, order->environment, why,
			    sizeof(why))) {
			snprintf(glue.page->answer.text, sizeof(glue.page->answer.text), "%s", why);
			*state = STATUS_BROKEN;
			glue_thread_say(STATUS_BROKEN);
			return;
		}
	}
	/* only a cut leaves notes: after a refusal there are none, and threads may be in MPI */
	if (*state == STATUS_SILENT)
		rebuild_forget();
	glue.run = order->run;
	*state = STATUS_RUNNING;
	let_go();
}

/*
 * True if the rank is beyond quiescing though ordered to quiesce: there was an order to run that
 * this thread missed, as it got no processor before the next order. (If the rank refused this very
 * order, there was none; the rank then refuses again.)
 */
static bool is_of_before(uint32_t state)
{
	return state == STATUS_DRAINING || state == STATUS_SILENT || state == STATUS_REFUSED;
}

/* Take one step towards @intent; returns true if there is more to do without a new order. */
static bool glue_thread_follow(uint32_t *state, uint32_t intent)
{
	struct status_answer *answer = &glue.page->answer;
	char why[256];

	if (intent == STATUS_RUN) {
		if (*state != STATUS_RUNNING && *state != STATUS_BROKEN)
			glue_thread_resume(state);
		return false;
	}
	if (intent == STATUS_QUIESCE && is_of_before(*state))
		glue_thread_resume(state);
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
		/*
		 * refuse at once: threads that make such calls to catch up may wait for each
		 * other until the deadline
		 */
		if (is_refused(why, sizeof(why))) {
			*state = STATUS_REFUSED;
			glue_thread_refuse(why);
			return false;
		}
		__atomic_store_n(&answer->stragglers, quiesce_stragglers(), __ATOMIC_RELEASE);
		say_wait();
		look_stuck();
		glue_thread_progress();
		return true;
	}
	if (!(glue.hold & HOLD_ALL))
		glue_thread_hold(HOLD_COLL | HOLD_ALL);
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

	/* this thread is never held, and does not count as inside */
	glue_self.unknown = 0;
	glue_self.call = 1;
	own_thread();
	for (;;) {
		uint32_t serial = __atomic_load_n(&order->serial, __ATOMIC_ACQUIRE);
		bool more;

		if (__atomic_load_n(&glue.state, __ATOMIC_ACQUIRE) == GLUE_ENDED)
			break;
		more = glue_thread_follow(&state, order->intent);
		if (glue.page->answer.seen != serial) {
			say_wait();
			__atomic_store_n(&glue.page->answer.seen, serial, __ATOMIC_RELEASE);
			quiesce_open_gate();	/* targets may have been raised */
			quiesce_publish();
		}
		quiesce_futex(&order->serial, FUTEX_WAIT, serial, more ? &step : NULL);
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
	own_begin();
	if (glue.refused)
		quiesce_refused();
	glue_thread_say(STATUS_RUNNING);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, glue_thread, NULL))
		glue_thread_refuse("no thread could be made for it");
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* MPI_Finalize has begun, as a call like others: an earlier order has been followed by now. */
void quiesce_stop(void)
{
	if (glue.page)
		glue_thread_say(STATUS_ENDED);
}
