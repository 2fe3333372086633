// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gatherings before blocking collectives; see gather.h.
 *
 * Where a rank is in one is on its thread's stack, which is in the image. The real request is
 * of one lower half: what was loaded since then makes it void, and the gathering begins anew.
 * One that is not complete is never given up, as nobody can be taken out of a barrier: a call
 * that came here ends up in its collective.
 *
 * Must not count anything as begun before the gathering is complete, but of a rank that is behind;
 * and takes that back when it has not begun and nobody asks any more.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/request.h"
#include "mpi/calls.h"

/**
 * struct gathering - this thread's way through one
 * @loaded: number of the lower half that @real is of
 * @rounds: barriers that are not complete
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
	/* files and windows keep the one they were made on, though it was freed: orphan.c */
	bool gone = !comm_below(comm) || glue.state != GLUE_RUNNING;

	return (struct gathering){ .comm = gone ? NULL : comm };
}

/* All have come, or the library fails, which the call itself will find and tell. */
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

/* Not all have come. Others may have to, for what this rank is behind in. */
static void count_early(struct call_mark *mark, struct counter *counter)
{
	if (mark->collective) {
		if (!(*(volatile uint32_t *)&glue.hold & HOLD_COLL))
			quiesce_retract(mark, counter);
		return;
	}
	if (!counter || !(*(volatile uint32_t *)&glue.hold & HOLD_COLL) || !collective_behind())
		return;
	/* the hold may be gone by now, and nobody asks who is behind */
	if (quiesce_try_begin(mark, counter) && !mark->collective)
		collective_uncount(counter);
}

/* Below a callback: the call around it has begun, and nobody is held there. */
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
	gather_until(mark, counter, gather_step, &g);
	glue_self.counter = counter;
}
