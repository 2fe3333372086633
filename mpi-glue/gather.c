// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gatherings before blocking collectives; see gather.h.
 *
 * The state of a gathering is on its thread's stack, which is in the image. The real request
 * belongs to one lower half: if another one was loaded since, the request is void and the
 * gathering begins anew. An incomplete gathering is never abandoned, as nobody can be taken out
 * of a barrier: a call that came here ends up in its collective.
 *
 * Must not count a collective as begun before its gathering is complete, unless the rank is
 * behind; that count is taken back if the collective has not begun when the hold ends.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

/**
 * struct gathering - this thread's state in a gathering
 * @comm:    communicator whose members gather; NULL: nothing to wait for
 * @loaded:  number of the lower half that @real belongs to
 * @rounds:  barriers that are not complete
 * @pending: @real is under way
 * @real:    real request of the barrier
 */
struct gathering {
	const struct vcomm *comm;
	uint64_t loaded;
	unsigned int rounds;
	bool pending;
	MPI_Request real;
};

bool gather_wanted(void)
{
	const char *value = getenv("CKPT_COLLECTIVES");

	return value && !strcmp(value, "interruptible");
}

static struct gathering gathering_of(struct counter *over)
{
	struct vcomm *comm = (struct vcomm *)((char *)over - offsetof(struct vcomm, coll));
	/* files and windows keep the communicator they were made on after it was freed: orphan.c */
	bool gone = !comm_below(comm) || glue.state != GLUE_RUNNING;

	return (struct gathering){ .comm = gone ? NULL : comm };
}

/* True: all have come, or the library fails, which the call itself will find and report. */
LOWER_TEXT static bool gather_step(void *arg)
{
	struct gathering *g = arg;
	int flag = 0, rc = 0;

	if (!g->comm)
		return true;
	if (g->loaded != glue.loaded) {
		g->loaded = glue.loaded;
		g->rounds = g->comm->inter ? 2 : 1;
		g->pending = false;
	}
	while (g->rounds) {
		if (!g->pending)
			rc = lower_MPI_Ibarrier((MPI_Comm)comm_below(g->comm), &g->real);
		if (!rc)
			rc = test_below(&g->real, &flag, MPI_STATUS_IGNORE);
		if (rc) {
			g->comm = NULL;
			return true;
		}
		g->pending = !flag;
		if (!flag)
			return false;
		g->rounds--;
	}
	return true;
}

/*
 * Not all members have come. If this rank is behind elsewhere, count its collective now, so that
 * the others are told to come; take that back when the hold is over.
 */
static void count_early(struct call_mark *mark, struct counter *counter)
{
	if (mark->collective) {
		if (!(*(volatile uint32_t *)&glue.hold & HOLD_COLL))
			quiesce_retract(mark, counter);
		return;
	}
	if (!counter || !(*(volatile uint32_t *)&glue.hold & HOLD_COLL) || !collective_behind())
		return;
	/* the hold may have ended meanwhile, and then nobody needs the count */
	if (quiesce_try_begin(mark, counter) && !mark->collective)
		collective_uncount(counter);
}

/* Count a call made within a callback: the outer call has begun, so this one is never held. */
static void count_within(struct counter *counter)
{
	if (!counter)
		return;
	collective_count(counter);
	if (*(volatile uint32_t *)&glue.hold & HOLD_COLL) {
		collective_publish_one(counter);
		quiesce_publish();
	}
}

void gather_until(struct call_mark *mark, struct counter *counter, bool (*step)(void *arg),
		  void *arg)
{
	if (mark->outer) {
		while (!step(arg))
			sched_yield();
		count_within(counter);
		return;
	}
	for (;;) {
		uint32_t gate = quiesce_gate();
		bool all = step(arg);

		glue_self.gathers = !all;
		if (all && (!counter || mark->collective || quiesce_try_begin(mark, counter)))
			break;
		if (all) {
			quiesce_wait(mark, gate);
			continue;
		}
		count_early(mark, counter);
		if (mark->collective)
			sched_yield();
		else
			between(mark);
	}
}

__attribute__((noinline)) void gather_begin(struct call_mark *mark, unsigned int call,
					    struct counter *counter, struct counter *over)
{
	struct gathering g = gathering_of(over);

	CALL_BEGIN(mark, call);
	glue_self.counter = over;
	glue_self.peer = -1;
	progress_gathers(over);
	gather_until(mark, counter, gather_step, &g);
	glue_self.counter = counter;
}
