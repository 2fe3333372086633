// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks of windows, and flushes of locked targets.
 *
 * Owns the word @lock of each member (win.h): a process takes the lock by adding to the word, and
 * takes the addition back if the lock was held. A waiting thread reads the word again and again
 * between safe points, with no operation on it under way in the lower half; a writer that waits
 * for readers has its addition in the word already. With MPI_MODE_NOCHECK the word is not
 * touched, as the program promises that there is no conflicting lock.
 */
#include <stddef.h>
#include <stdlib.h>

#include "mpi-glue/request.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

static bool has_lock(const struct vwin *win, int rank)
{
	return rank >= 0 && rank < win->nr && win->target[rank] > TARGET_STARTED;
}

static bool is_locked(const struct vwin *win, int rank)
{
	return win->access == ACCESS_ALL || rank == MPI_PROC_NULL || has_lock(win, rank);
}

static int win_lock_give_back(const struct vwin *win, int rank, size_t i, uint64_t value)
{
	uint64_t add = -value;

	return word_add(win, rank, i, &add);
}

/* Whoever holds the lock may need this process's progress to come to its end. */
LOWER_TEXT static int lock_progress(void)
{
	int tag = quiet_tag(), flag;

	return lower_MPI_Iprobe(MPI_ANY_SOURCE, tag, real_comm(MPI_COMM_WORLD), &flag,
				MPI_STATUS_IGNORE);
}

static bool has_writer(uint64_t lock)
{
	return lock & ~MASK_SHARED;
}

/*
 * Wait until there is no writer, or with @readers no reader. Only reads the word: a process that
 * adds and takes back again and again would keep others from the lock.
 */
static int lock_await(const struct vwin *win, int rank, bool readers, struct call_mark *mark)
{
	for (;;) {
		uint64_t now = 0;
		int rc = word_add(win, rank, WORD_OF(lock), &now);

		if (rc || !(readers ? now & MASK_SHARED : has_writer(now)))
			return rc;
		rc = lock_progress();
		if (rc)
			return rc;
		between(mark);
	}
}

/*
 * Take a lock by additions only: Open MPI 4.1.4 cannot compare and swap in the caller's own memory
 * (btl/vader).
 */
static int lock_shared(const struct vwin *win, int rank, struct call_mark *mark)
{
	for (;;) {
		uint64_t was = 1;
		int rc = word_add(win, rank, WORD_OF(lock), &was);

		if (rc || !has_writer(was))
			return rc;
		rc = win_lock_give_back(win, rank, WORD_OF(lock), 1);
		if (!rc)
			rc = lock_await(win, rank, false, mark);
		if (rc)
			return rc;
	}
}

/* The first writer keeps its addition while readers leave, so that no new readers come. */
static int lock_exclusive(const struct vwin *win, int rank, struct call_mark *mark)
{
	for (;;) {
		uint64_t was = ONE_EXCLUSIVE;
		int rc = word_add(win, rank, WORD_OF(lock), &was);

		if (rc || !was)
			return rc;
		if (!has_writer(was))
			return lock_await(win, rank, true, mark);
		rc = win_lock_give_back(win, rank, WORD_OF(lock), ONE_EXCLUSIVE);
		if (!rc)
			rc = lock_await(win, rank, false, mark);
		if (rc)
			return rc;
	}
}

static int win_lock_take(struct vwin *win, int type, int rank, int assert, struct call_mark *mark)
{
	uint8_t how = TARGET_UNCHECKED;
	int rc = 0;

	if (rank == MPI_PROC_NULL)
		return 0;
	if (rank < 0 || rank >= win->nr)
		return MPI_ERR_RANK;
	if (type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED)
		return MPI_ERR_LOCKTYPE;
	if (win->target[rank] || win->access >= ACCESS_FENCE)
		return MPI_ERR_RMA_SYNC;
	if (assert & MPI_MODE_NOCHECK)
		how = TARGET_UNCHECKED;
	else if (type == MPI_LOCK_EXCLUSIVE)
		how = TARGET_EXCLUSIVE;
	else
		how = TARGET_SHARED;
	glue_self.peer = world_rank_of((struct vcomm *)win->comm, rank);
	progress_waits(STATUS_ONE_SIDED, glue_self.peer, 0,
		       ((struct vcomm *)win->comm)->coll.id);
	if (how == TARGET_EXCLUSIVE)
		rc = lock_exclusive(win, rank, mark);
	else if (how == TARGET_SHARED)
		rc = lock_shared(win, rank, mark);
	if (rc)
		return rc;
	win->target[rank] = how;
	__atomic_add_fetch(&win->locked, 1, __ATOMIC_RELAXED);
	win->access = ACCESS_NONE;
	return 0;
}

LOWER_TEXT int PMPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
	GLUE_CALL(MPI_Win_lock);
	struct vwin *desc = win_of(win);
	int rc = desc ? win_lock_take(desc, lock_type, rank, assert, &mark) : MPI_ERR_WIN;

	/* loads of this process from here on see the earlier stores of others */
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(desc));
	return rc ? fail_win(win, rc, CALL_MPI_Win_lock) : rc;
}
MPI_ALIAS(MPI_Win_lock);

LOWER_TEXT static int win_lock_unlock(struct vwin *win, int rank)
{
	uint8_t how;
	int rc;

	if (rank == MPI_PROC_NULL)
		return 0;
	if (rank < 0 || rank >= win->nr)
		return MPI_ERR_RANK;
	if (!has_lock(win, rank))
		return MPI_ERR_RMA_SYNC;
	rc = lower_MPI_Win_flush(rank, win_below(win));
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(win));
	how = win->target[rank];
	if (!rc && how == TARGET_SHARED)
		rc = win_lock_give_back(win, rank, WORD_OF(lock), 1);
	if (!rc && how == TARGET_EXCLUSIVE)
		rc = win_lock_give_back(win, rank, WORD_OF(lock), ONE_EXCLUSIVE);
	if (rc)
		return rc;
	win->target[rank] = 0;
	__atomic_sub_fetch(&win->locked, 1, __ATOMIC_RELAXED);
	return 0;
}

int PMPI_Win_unlock(int rank, MPI_Win win)
{
	GLUE_CALL(MPI_Win_unlock);
	struct vwin *desc = win_of(win);
	int rc = desc ? win_lock_unlock(desc, rank) : MPI_ERR_WIN;

	return rc ? fail_win(win, rc, CALL_MPI_Win_unlock) : rc;
}
MPI_ALIAS(MPI_Win_unlock);

/* Lock all members at once, and afterwards one by one those that had a writer. */
static int lock_everybody(const struct vwin *win, struct call_mark *mark)
{
	uint64_t *was = calloc((size_t)win->nr, sizeof(*was));
	int rc;

	if (!was)
		return MPI_ERR_NO_MEM;
	rc = words_add_all(win, WORD_OF(lock), 1, was);
	for (int i = 0; i < win->nr && !rc; i++) {
		if (!has_writer(was[i]))
			continue;
		rc = win_lock_give_back(win, i, WORD_OF(lock), 1);
		if (!rc)
			rc = lock_await(win, i, false, mark);
		if (!rc)
			rc = lock_shared(win, i, mark);
	}
	free(was);
	return rc;
}

static int unlock_everybody(const struct vwin *win)
{
	return words_tell(win, WORD_OF(lock), -1ull, win->nr, NULL);
}

LOWER_TEXT int PMPI_Win_lock_all(int assert, MPI_Win win)
{
	GLUE_CALL(MPI_Win_lock_all);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : win_is_open(desc) ? MPI_ERR_RMA_SYNC : 0;

	if (!rc && !(assert & MPI_MODE_NOCHECK))
		rc = lock_everybody(desc, &mark);
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(desc));
	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_lock_all);
	desc->all = !(assert & MPI_MODE_NOCHECK);
	desc->access = ACCESS_ALL;
	return rc;
}
MPI_ALIAS(MPI_Win_lock_all);

LOWER_TEXT int PMPI_Win_unlock_all(MPI_Win win)
{
	GLUE_CALL(MPI_Win_unlock_all);
	struct vwin *desc = win_of(win);
	int rc = !desc ? MPI_ERR_WIN : desc->access != ACCESS_ALL ? MPI_ERR_RMA_SYNC : 0;

	if (!rc)
		rc = lower_MPI_Win_flush_all(win_below(desc));
	if (!rc)
		rc = lower_MPI_Win_sync(win_below(desc));
	if (!rc && desc->all)
		rc = unlock_everybody(desc);
	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_unlock_all);
	desc->access = ACCESS_NONE;
	return rc;
}
MPI_ALIAS(MPI_Win_unlock_all);

/* Flushes of locked targets. */

#define FLUSH(name) \
LOWER_TEXT int P##name(int rank, MPI_Win win) \
{ \
	GLUE_CALL(name); \
	const struct vwin *desc = win_of(win); \
	int rc = !desc ? MPI_ERR_WIN : !is_locked(desc, rank) ? MPI_ERR_RMA_SYNC : 0; \
\
	if (!rc && rank != MPI_PROC_NULL) \
		rc = lower_##name(rank, win_below(desc)); \
	return rc ? fail_win(win, rc, CALL_##name) : rc; \
} \
MPI_ALIAS(name);

#define FLUSH_ALL(name) \
LOWER_TEXT int P##name(MPI_Win win) \
{ \
	GLUE_CALL(name); \
	const struct vwin *desc = win_of(win); \
	int rc = !desc ? MPI_ERR_WIN : !desc->locked && desc->access != ACCESS_ALL ? \
		 MPI_ERR_RMA_SYNC : 0; \
\
	if (!rc) \
		rc = lower_##name(win_below(desc)); \
	return rc ? fail_win(win, rc, CALL_##name) : rc; \
} \
MPI_ALIAS(name);

FLUSH(MPI_Win_flush)
FLUSH(MPI_Win_flush_local)
FLUSH_ALL(MPI_Win_flush_all)
FLUSH_ALL(MPI_Win_flush_local_all)
