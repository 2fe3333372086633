// SPDX-License-Identifier: GPL-2.0-only
/*
 * The glue thread, which opens and closes the gate of MPI.
 *
 * It follows the orders of the status page. It calls the lower half only with glue.hold set,
 * glue.library locked and, unless several threads call anyway (glue.several), no thread inside
 * that is neither at a safe point nor waiting for that lock; so the library, initialised for
 * serialized threads at least, never has two callers that it was not promised.
 *
 * Nothing here blocks in the lower half. What does not come to an end is the shim's deadline to
 * judge.
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
#include "mpi-glue/quiesce_priv.h"
#include "mpi-glue/rebuild.h"
#include "mpi-glue/request.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

/* Between two looks at the library while others are held. */
#define STEP_NS		50000
/* In each of them. */
#define POLLS_AT_ONCE	50
/* A rank with several threads is behind, and begins nothing: at first, and at most. */
#define STUCK_NS	5000000
#define STUCK_MAX_NS	250000000
/* At sends that were cancelled, before a drain. */
#define CANCEL_LOOKS	100

/* All threads have seen stores from before, and we see theirs. */
static int all_threads_fence(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return -errno;
	return 0;
}

/*
 * Two threads say what is: this one, and the one that is in MPI_Finalize, which has the last
 * word.
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

/* Said first: whoever is let go finds, and says, what is so afterwards. */
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
 * Of several threads those go on first that are behind a target. If none of them gets on, it
 * may wait outside MPI for another one: then each that is held may begin one collective. What
 * comes of it raises targets elsewhere, so every time it takes longer.
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
	/* after it: who has this number was let in under the hold, and is no straggler */
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
 * The library, if nobody else has it. @alone: nor anybody inside, as all are to be held. When
 * several threads call, they are inside without the lock; MPI_Abort and MPI_Finalize take it
 * always.
 */
static bool library_take(bool alone)
{
	bool several = __atomic_load_n(&glue.several, __ATOMIC_ACQUIRE);

	if (!quiesce_library_trylock())
		return false;
	/* in this order: MPI_Finalize ends before it is no straggler any more */
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
 * Others may need our progress, for thousands of messages perhaps; one look may be long if
 * many wait here.
 */
LOWER_TEXT static void poll_below(void)
{
	int flag, n = POLLS_AT_ONCE, tag = quiet_tag();
	MPI_Comm world = real_comm(MPI_COMM_WORLD);
	int64_t end = now_ns() + STEP_NS / 2;

	while (n-- && now_ns() < end)
		lower_MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &flag, MPI_STATUS_IGNORE);
}

/* While we are held, or compute. */
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
 * Told once in a drain, so a send that was cancelled is asked about before. Not without end:
 * Open MPI cancels none, and those are received like others.
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
	 * a call that this rank made to catch up may have been of that kind; requests of files
	 * of several threads must not be tested here
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

/* Everything is done below, and what only the lower half knows is noted. */
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
	/* calls that ranks made to catch up may have been of that kind */
	if (is_refused(why, sizeof(why)) || rebuild_ask(why, sizeof(why))) {
		rebuild_forget();	/* what was noted so far, while nobody can free it */
		library_give();
		*state = STATUS_REFUSED;
		glue_thread_refuse(why);
		return;
	}
	/* before anybody else can have the library: MPI_Abort looks at it with the lock held */
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
	/* who was refused has nothing, and may be in MPI */
	if (*state == STATUS_SILENT)
		rebuild_forget();
	glue.run = order->run;
	*state = STATUS_RUNNING;
	let_go();
}

/*
 * Ordered to quiesce, and beyond that: there was an order to run that this thread never saw, as it
 * got no processor before the next. (Of who refused this very order it is not so, and it will
 * again.)
 */
static bool is_of_before(uint32_t state)
{
	return state == STATUS_DRAINING || state == STATUS_SILENT || state == STATUS_REFUSED;
}

/* One look at the orders; true when there is more to do without a new one. */
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
		 * what threads do to catch up may make them wait for each other until the
		 * deadline
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

	/* never held itself, and not among those it looks for */
	glue_self.unknown = 0;
	glue_self.call = 1;
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

/* MPI_Finalize has begun, as a call like others: an order that came first was followed first. */
void quiesce_stop(void)
{
	if (glue.page)
		glue_thread_say(STATUS_ENDED);
}
