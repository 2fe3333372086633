/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows and their epochs.
 *
 * Below, a window is under MPI_Win_lock_all for as long as it is there, with MPI_MODE_NOCHECK:
 * the library moves data, and that its operations are complete at the target MPI_Win_flush_all
 * tells. When they may begin, and who waits for whom, is ours: fences, post-start-complete-wait
 * and locks are made of flushes and words in each member's memory that the others add to. So
 * what an epoch has come to is memory of the application, in the image with the rest, and a cut
 * can be in the middle of any: the drain flushes, and a restart makes the window again and goes
 * on.
 *
 * Words of a member, each written by atomics of MPI alone (@words_below, a window beside the
 * application's): who holds its lock; for each other one how often it has posted to, and
 * completed at, this one; for each round of a fence how often somebody has come. The latter
 * only grow, and what the member has used of them is counted beside, so nothing is ever reset.
 * Who waits for a word, or tries a lock, does so between safe points, so it can be cut there. A
 * fence counts as a collective when all have come to it.
 *
 * Fences are dissemination barriers: Hensgen, Finkel, Manber, "Two algorithms for barrier
 * synchronization", International Journal of Parallel Programming 17(1), 1988.
 *
 * MPI_Win_lock_all is a lock of each member, all begun at once. (A word for all at one member,
 * as Gerstenberger, Besta, Hoefler have it, SC'13, section 2.3, would have every exclusive lock
 * wait for the progress of that one.)
 *
 * Memory of MPI_Win_allocate is the application's heap; that of MPI_Win_allocate_shared a file
 * of a tmpfs which all members map, and which no name leads to any more. (Below, each member's
 * window is all of it: MPICH 4.0.2 with UCX misplaces what is put where a window begins at no
 * multiple of 16.)
 */
#ifndef MPI_GLUE_WIN_H
#define MPI_GLUE_WIN_H

#include "mpi-glue/glue.h"

/*
 * What operations of this process are allowed on the window, besides those on targets that are
 * locked.
 */
enum win_access {
	ACCESS_NONE,
	ACCESS_FENCED,		/* after a fence; nothing was begun yet */
	ACCESS_FENCE,		/* operations were, so a fence must come */
	ACCESS_STARTED,		/* on targets of MPI_Win_start */
	ACCESS_ALL,		/* MPI_Win_lock_all */
};

/*
 * vwin.target[], by rank; the last three are locks, which several threads may have of
 * different targets.
 */
enum win_target { TARGET_STARTED = 1, TARGET_SHARED, TARGET_EXCLUSIVE, TARGET_UNCHECKED };

/*
 * Locks count readers in the lower half, writers, one of which has it or waits for readers, in
 * the upper.
 */
#define ONE_EXCLUSIVE	(1ull << 32)
#define MASK_SHARED	(ONE_EXCLUSIVE - 1)

#define FENCE_ROUNDS	31	/* of as many members as an int can count */

/**
 * struct win_words - of one member
 * @fences: this member has begun; its own, as the second half of @by
 * @lock:   of this member
 * @come:   to round k of a fence, by the member 2^k before this one
 * @by:     [0, n): posted here by rank i; [n, 2n): completed here; [2n, 4n): of these, used
 */
struct win_words {
	uint64_t fences;
	uint64_t lock;
	uint64_t come[FENCE_ROUNDS];
	uint64_t by[];
};

/* Its displacement below. */
#define WORD_OF(member)	(offsetof(struct win_words, member) / sizeof(uint64_t))

/* Of a shared window, a member's part of the memory. */
struct win_part {
	MPI_Aint size, offset;
	int disp_unit;
};

/* Attached to a dynamic window. */
struct win_region {
	struct win_region *next;
	void *base;
	MPI_Aint size;
};

static inline struct vwin *win_of(MPI_Win win)
{
	return (struct vwin *)vobj_win(win);
}

static inline MPI_Win win_below(const struct vwin *win)
{
	return (MPI_Win)win->obj.real;
}

static inline bool win_is_open(const struct vwin *win)
{
	return win->access >= ACCESS_FENCE || __atomic_load_n(&win->locked, __ATOMIC_RELAXED);
}

/* May an operation on @target begin? Else it is MPI_ERR_RMA_SYNC. */
static inline bool win_may(MPI_Win win, int target)
{
	struct vwin *desc = win_of(win);

	/* what is wrong with these the library says itself */
	if (unlikely(!desc || target < 0 || target >= desc->nr))
		return true;
	switch (desc->access) {
	case ACCESS_FENCED:
		desc->access = ACCESS_FENCE;
		return true;
	case ACCESS_FENCE:
	case ACCESS_ALL:
		return true;
	default:
		return desc->target[target];
	}
}

/*
 * Where @disp of @target is below: a shared window is there the whole mapping, in bytes, for
 * each member.
 */
static inline MPI_Aint win_disp(MPI_Win win, int target, MPI_Aint disp)
{
	const struct vwin *desc = win_of(win);

	if (likely(!desc || !desc->parts) || target < 0 || target >= desc->nr)
		return disp;
	return desc->parts[target].offset + disp * desc->parts[target].disp_unit;
}

/* May a fence, or the end of the window, come now? */
bool win_is_idle(const struct vwin *win);

/**
 * win_make_below() - the lower half's window of @win, and what belongs to it
 * @comm, @info: below
 *
 * Collective over @comm. Returns a code of MPI; then nothing may be done with the window.
 */
int win_make_below(struct vwin *win, MPI_Comm comm, MPI_Info info);

/* Is @key "true" in @info, which is below? */
bool win_info_says(MPI_Info info, const char *key);

/* The drain: all that was begun is complete at its target. Waits for progress of other ranks. */
void wins_flush(void);

/* The memory of a window that is gone. */
void win_drop(struct vwin *win);

/*
 * Memory that all members of @comm share, as large as they want it each: @win->base, parts, map.
 * Collective; a code of MPI, the same in all: MPI_ERR_RMA_SHARED if they are not on one node.
 */
int win_share(struct vwin *win, MPI_Comm comm, MPI_Info info);
/* Also of a window that has none. */
void win_shared_drop(struct vwin *win);
/* For MPI_Win_shared_query and its large form, @call. */
int win_shared_part(MPI_Win win, int rank, MPI_Aint *ret_size, int *ret_disp_unit, void **ret_base,
		    unsigned int call);

#endif
