// SPDX-License-Identifier: GPL-2.0-only
/*
 * Epochs of windows that several members take part in: fences and post-start-complete-wait
 * (win.h says how), and the flush before a cut. win_lock.c has the epochs of one member alone.
 *
 * Owns the words that tell who has come, posted, completed. Waiting here is a loop of tests
 * with safe points; a flush waits for nothing but progress of its targets.
 *
 * This file reports calls in a wrong order as MPI_ERR_RMA_SYNC. The library cannot, as it sees
 * every window locked all the time.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/request.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

bool win_is_idle(const struct vwin *win)
{
	return win->access <= ACCESS_FENCE && !win->from && !win->locked;
}

/*
 * The count of member @rank in @win->words->by; @kind: 0 posts, 1 completes, 2 posts used,
 * 3 completes used
 */
static uint64_t *epoch_by(const struct vwin *win, int kind, int rank)
{
	return &win->words->by[kind * win->nr + rank];
}

static bool has_come(const uint64_t *word, uint64_t seen)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) > seen;
}

static bool is_told(const struct vwin *win, int kind, int rank)
{
	return has_come(epoch_by(win, kind, rank), *epoch_by(win, kind + 2, rank));
}

/*
 * Wait until the count of @kind of member @peer is more than @seen. The words may lie elsewhere
 * after each safe point.
 */
LOWER_TEXT static int word_await(const struct vwin *win, int kind, int peer, uint64_t seen,
				 struct call_mark *mark)
{
	const struct vcomm *comm = (struct vcomm *)win->comm;
	int flag, rc;

	while (!has_come(epoch_by(win, kind, peer), seen)) {
		const uint64_t *word = epoch_by(win, kind, peer);
		int tag = quiet_tag();

		rc = UNTIL_OUT(MPI_Iprobe, has_come(word, seen), MPI_ANY_SOURCE, tag,
			       real_comm(MPI_COMM_WORLD), &flag, MPI_STATUS_IGNORE);
		if (rc)
			return rc;
		/* name the peer for anybody who asks what this thread waits for */
		glue_self.peer = world_rank_of(comm, peer);
		progress_waits(STATUS_ONE_SIDED, glue_self.peer, 0, comm->coll.id);
		if (!has_come(word, seen))
			between(mark);
	}
	return 0;
}

/* Wait until all members in @rank[] have told @kind, and count each as used. */
static int words_await(const struct vwin *win, int kind, int n, const int rank[],
		       struct call_mark *mark)
{
	int rc = 0;

	for (int k = 0; k < n && !rc; k++)
		rc = word_await(win, kind, rank[k], *epoch_by(win, kind + 2, rank[k]), mark);
	for (int k = 0; k < n && !rc; k++)
		++*epoch_by(win, kind + 2, rank[k]);
	return rc;
}

/* Fences. */

/**
 * struct fence - this thread's state in a fence
 * @before: number of fences before this one
 * @round:  the round it is in
 * @told:   the next member has been told of this round
 * @rc:     error of the library
 */
struct fence {
	const struct vwin *win;
	uint64_t before;
	int round;
	bool told;
	int rc;
};

/* A step for gather_until(): true when all members have come, or on an error. */
LOWER_TEXT static bool fence_step(void *arg)
{
	struct fence *f = arg;
	const struct vwin *win = f->win;

	for (; 1l << f->round < win->nr && !f->rc; f->round++, f->told = false) {
		const uint64_t *come = &win->words->come[f->round];
		long step = 1l << f->round;
		int next = (int)((win->rank + step) % win->nr), flag;
		int tag = quiet_tag();	/* upper-half code: call it before going below */

		if (!f->told)
			f->rc = words_tell(win, WORD_OF(come) + (size_t)f->round, 1, 1, &next);
		f->told = true;
		if (!f->rc && !has_come(come, f->before))
			f->rc = UNTIL_OUT(MPI_Iprobe, has_come(come, f->before), MPI_ANY_SOURCE,
					  tag, real_comm(MPI_COMM_WORLD), &flag,
					  MPI_STATUS_IGNORE);
		if (f->rc)
			return true;
		if (!has_come(come, f->before)) {
			long last = win->rank + win->nr - step;

			glue_self.peer = world_rank_of((struct vcomm *)win->comm,
						       (int)(last % win->nr));
			return false;
		}
	}
	return true;
}

/*
 * A fence is counted when all members have come, as a waiting rank can be cut. A rank that others
 * wait for elsewhere counts at once, as it may need a member here that is held (gather.h).
 */
LOWER_TEXT int PMPI_Win_fence(int assert, MPI_Win win)
{
	GLUE_CALL(MPI_Win_fence);
	struct vwin *desc = win_of(win);
	struct fence fence = { .win = desc };
	int rc = !desc ? MPI_ERR_WIN : !win_is_idle(desc) ? MPI_ERR_RMA_SYNC : 0;

	if (!rc)
		rc = lower_MPI_Win_flush_all(win_below(desc));
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(desc));
	if (!rc) {
		fence.before = desc->words->fences++;
		glue_self.counter = counter_of_win(win);
		glue_self.counter_call = CALL_MPI_Win_fence + 1;
		gather_until(&mark, counter_of_win(win), fence_step, &fence);
		rc = fence.rc;
	}
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(desc));
	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_fence);
	desc->access = assert & MPI_MODE_NOSUCCEED ? ACCESS_NONE : ACCESS_FENCED;
	return rc;
}
MPI_ALIAS(MPI_Win_fence);

/* Post, start, complete, wait. */

/* The window's ranks of the members of @group, in an array, also when there are none. */
LOWER_TEXT static int ranks_of(const struct vwin *win, MPI_Group group, int **ret_ranks, int *ret_n)
{
	int n, rc = lower_MPI_Group_size(real_group(group), &n);
	int *from, *ranks;
	MPI_Group members;

	if (rc)
		return rc;
	rc = lower_MPI_Win_get_group(win_below(win), &members);
	if (rc)
		return rc;
	from = calloc((size_t)n + 1, sizeof(*from));
	ranks = calloc((size_t)n + 1, sizeof(*ranks));
	for (int i = 0; from && i < n; i++)
		from[i] = i;
	rc = from && ranks ? lower_MPI_Group_translate_ranks(real_group(group), n, from, members,
							     ranks) : MPI_ERR_NO_MEM;
	lower_MPI_Group_free(&members);
	free(from);
	for (int i = 0; i < n && !rc; i++)
		if (ranks[i] < 0)
			rc = MPI_ERR_GROUP;
	if (rc) {
		free(ranks);
		return rc;
	}
	*ret_ranks = ranks;
	*ret_n = n;
	return 0;
}

LOWER_TEXT int PMPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
	GLUE_CALL(MPI_Win_post);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : desc->from ? MPI_ERR_RMA_SYNC : 0;

	(void)assert;
	if (!rc)
		rc = ranks_of(desc, group, &desc->from, &desc->nr_from);
	/* make this process's stores visible before the members are told */
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(desc));
	if (!rc)
		rc = words_tell(desc, WORD_OF(by) + (size_t)desc->rank, 1, desc->nr_from,
				desc->from);
	return rc ? fail_win(win, rc, CALL_MPI_Win_post) : rc;
}
MPI_ALIAS(MPI_Win_post);

LOWER_TEXT int PMPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
	GLUE_CALL(MPI_Win_start);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : win_is_open(desc) ? MPI_ERR_RMA_SYNC : 0;

	(void)assert;
	if (!rc)
		rc = ranks_of(desc, group, &desc->to, &desc->nr_to);
	if (!rc)
		rc = words_await(desc, 0, desc->nr_to, desc->to, &mark);
	if (rc && desc && !win_is_open(desc)) {
		free(desc->to);
		desc->to = NULL;
	}
	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_start);
	for (int k = 0; k < desc->nr_to; k++)
		desc->target[desc->to[k]] = TARGET_STARTED;
	desc->access = ACCESS_STARTED;
	return rc;
}
MPI_ALIAS(MPI_Win_start);

LOWER_TEXT int PMPI_Win_complete(MPI_Win win)
{
	GLUE_CALL(MPI_Win_complete);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : desc->access != ACCESS_STARTED ? MPI_ERR_RMA_SYNC : 0;

	/* flush one by one: in a flush of all, Open MPI's osc/pt2pt asks other members as well */
	for (int k = 0; !rc && k < desc->nr_to; k++)
		rc = lower_MPI_Win_flush(desc->to[k], win_below(desc));
	if (!rc)
		rc = words_tell(desc, WORD_OF(by) + (size_t)(desc->nr + desc->rank), 1,
				desc->nr_to, desc->to);
	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_complete);
	memset(desc->target, 0, (size_t)desc->nr);
	free(desc->to);
	desc->to = NULL;
	desc->access = ACCESS_NONE;
	return rc;
}
MPI_ALIAS(MPI_Win_complete);

LOWER_TEXT static int exposure_ends(struct vwin *win)
{
	free(win->from);
	win->from = NULL;
	return lower_MPI_Win_sync(win_below(win));
}

LOWER_TEXT int PMPI_Win_wait(MPI_Win win)
{
	GLUE_CALL(MPI_Win_wait);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : !desc->from ? MPI_ERR_RMA_SYNC : 0;

	if (!rc)
		rc = words_await(desc, 1, desc->nr_from, desc->from, &mark);
	if (!rc)
		rc = exposure_ends(desc);
	return rc ? fail_win(win, rc, CALL_MPI_Win_wait) : rc;
}
MPI_ALIAS(MPI_Win_wait);

LOWER_TEXT int PMPI_Win_test(MPI_Win win, int *flag)
{
	GLUE_CALL(MPI_Win_test);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : !desc->from ? MPI_ERR_RMA_SYNC : 0;
	int found;

	if (!rc)
		rc = lower_MPI_Iprobe(MPI_ANY_SOURCE, quiet_tag(), real_comm(MPI_COMM_WORLD),
				      &found, MPI_STATUS_IGNORE);
	*flag = 1;
	for (int k = 0; !rc && k < desc->nr_from; k++)
		*flag = *flag && is_told(desc, 1, desc->from[k]);
	if (!rc && *flag)
		rc = words_await(desc, 1, desc->nr_from, desc->from, &mark);
	if (!rc && *flag)
		rc = exposure_ends(desc);
	return rc ? fail_win(win, rc, CALL_MPI_Win_test) : rc;
}
MPI_ALIAS(MPI_Win_test);

LOWER_TEXT int PMPI_Win_sync(MPI_Win win)
{
	GLUE_CALL(MPI_Win_sync);
	const struct vwin *desc = win_of(win);
	int rc = desc ? lower_MPI_Win_sync(win_below(desc)) : MPI_ERR_WIN;

	return rc ? fail_win(win, rc, CALL_MPI_Win_sync) : rc;
}
MPI_ALIAS(MPI_Win_sync);

LOWER_TEXT void wins_flush(void)
{
	const struct vtable *table = &glue.table[VK_WIN];
	int rc = 0;

	if (glue.flushed == glue.epoch)
		return;
	for (uint32_t i = 0; i < table->top && !rc; i++) {
		const struct vwin *win = (struct vwin *)vobj_at(VK_WIN, i);

		if (!win || !win->obj.real)
			continue;
		rc = lower_MPI_Win_flush_all(win_below(win));
		if (!rc)
			rc = words_flush(win);
	}
	if (rc)
		glue_refuse(CALL_MPI_Win_flush_all, "the library does not complete what was begun");
	glue.flushed = glue.epoch;
}
