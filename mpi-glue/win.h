/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows and their epochs.
 *
 * In the lower half a window is under MPI_Win_lock_all, with MPI_MODE_NOCHECK, as long as it
 * exists: the library only moves data, and MPI_Win_flush_all tells that operations are complete
 * at the target. This code decides when operations may begin, and which member waits for which:
 * fences, post-start-complete-wait and locks are made of flushes and of words in each member's
 * memory to which the others add. So the state of an epoch is memory of the application, in the
 * image with the rest, and a cut can be in the middle of any epoch: the drain flushes, and a
 * restart makes the window again and goes on.
 *
 * Words of a member, each written by atomics alone, those of the processor among members on one
 * node, else those of MPI (win_words.c): the state of its lock; for each other member how often
 * that one has posted to,
 * and completed at, this one; for each round of a fence how often a member has come. The posts,
 * completions and rounds only grow, and the member counts beside them how many it has used, so
 * nothing is ever reset. A thread waits for a word, or tries a lock, between safe points, so a
 * cut can be there. A fence counts as a collective when all have come to it.
 *
 * Fences are dissemination barriers: Hensgen, Finkel, Manber, "Two algorithms for barrier
 * synchronization", International Journal of Parallel Programming 17(1), 1988.
 *
 * MPI_Win_lock_all takes the lock of each member, all begun at once. (With one word for all at
 * one member, as in Gerstenberger, Besta, Hoefler, SC'13, section 2.3, every exclusive lock would
 * wait for the progress of that member.)
 *
 * Memory of MPI_Win_allocate is the application's heap; memory of MPI_Win_allocate_shared is an
 * unlinked file of a tmpfs which all members map. (In the lower half each member's window is the
 * whole file: MPICH 4.0.2 with UCX misplaces data put to a window that begins at no multiple of
 * 16.)
 */
#ifndef MPI_GLUE_WIN_H
#define MPI_GLUE_WIN_H

#include "mpi-glue/glue.h"

/*
 * Operations that this process may begin on the window, besides those on locked targets.
 */
enum win_access {
	ACCESS_NONE,
	ACCESS_FENCED,		/* after a fence; no operation was begun yet */
	ACCESS_FENCE,		/* after a fence and an operation, so a fence must come */
	ACCESS_STARTED,		/* on targets of MPI_Win_start */
	ACCESS_ALL,		/* on all targets: MPI_Win_lock_all */
};

/*
 * vwin.target[], by rank; the last three are locks. Several threads may hold locks of different
 * targets.
 */
enum win_target { TARGET_STARTED = 1, TARGET_SHARED, TARGET_EXCLUSIVE, TARGET_UNCHECKED };

/*
 * A lock word counts readers in its low 32 bits, writers in its high 32 bits: one writer holds
 * the lock or waits for readers.
 */
#define ONE_EXCLUSIVE	(1ull << 32)
#define MASK_SHARED	(ONE_EXCLUSIVE - 1)

#define FENCE_ROUNDS	31	/* of as many members as an int can count */

/**
 * struct win_words - the words of one member
 * @fences: fences that this member has begun; written by the member alone
 * @lock:   the lock of this member
 * @come:   [k]: arrivals at round k of a fence of the member 2^k before this one
 * @by:     [0, n): posts here by rank i; [n, 2n): completions here; [2n, 4n): how many of these
 *          this member has used; written by the member alone
 */
struct win_words {
	uint64_t fences;
	uint64_t lock;
	uint64_t come[FENCE_ROUNDS];
	uint64_t by[];
};

/* Displacement of a word in @words_below. */
#define WORD_OF(member)	(offsetof(struct win_words, member) / sizeof(uint64_t))

/* A member's part of a shared window's memory. */
struct win_part {
	MPI_Aint size, offset;
	int disp_unit;
};

/* Memory attached to a dynamic window. */
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

/* May an operation on @target begin? If not, the caller's error is MPI_ERR_RMA_SYNC. */
static inline bool win_may(MPI_Win win, int target)
{
	struct vwin *desc = win_of(win);

	/* the library reports these errors itself */
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
 * Translate @disp of @target for the lower half, where a shared window is, for each member, the
 * whole mapping in bytes.
 */
static inline MPI_Aint win_disp(MPI_Win win, int target, MPI_Aint disp)
{
	const struct vwin *desc = win_of(win);

	if (likely(!desc || !desc->parts) || target < 0 || target >= desc->nr)
		return disp;
	return desc->parts[target].offset + disp * desc->parts[target].disp_unit;
}

/* Words of members: win_words.c. Functions that return int return a code of MPI. */

/* Give a new window its words, all 0. False: no memory. */
bool words_alloc(struct vwin *win);
/*
 * Make what other members reach this member's words through. Collective over @comm, a real handle.
 * In a restart the words go on as they were at the cut.
 */
int words_make_below(struct vwin *win, MPI_Comm comm);
/* Collective over the members, none of which adds to a word any more. */
int words_free_below(struct vwin *win);
/* Complete what was added to words of others at its target. */
int words_flush(const struct vwin *win);
/* At a cut, when no rank adds to words any more: have the words in the image. */
void words_keep(struct vwin *win);
/* Free the words of a window that is gone below. */
void words_drop(struct vwin *win);
/* Add *@value to word @i of member @rank, complete on return; *@value: the word's old value. */
int word_add(const struct vwin *win, int rank, size_t i, uint64_t *value);
/* Add @add to word @i of each member, complete on return; @was: their old values, by rank. */
int words_add_all(const struct vwin *win, size_t i, uint64_t add, uint64_t was[]);
/*
 * Add @add to word @i of each member in @rank[], NULL: of the first @n members. They need not make
 * progress for that: an addition may come to its target later, at the latest in words_flush().
 */
int words_tell(const struct vwin *win, size_t i, uint64_t add, int n, const int rank[]);

/* May a fence, or the end of the window, come now? */
bool win_is_idle(const struct vwin *win);

/**
 * win_make_below() - make the real window of @win, and the window on its words
 * @comm, @info: real handles
 *
 * Collective over @comm. Returns a code of MPI; after an error the window must not be used.
 */
int win_make_below(struct vwin *win, MPI_Comm comm, MPI_Info info);

/* Is @key "true" in @info, a real handle? */
bool win_info_says(MPI_Info info, const char *key);

/*
 * For the drain: complete all operations begun at their targets. Waits for progress of other
 * ranks.
 */
void wins_flush(void);

/* Free the memory that the descriptor of a freed window owns. */
void win_drop(struct vwin *win);

/*
 * Make memory that all members of @comm share, with a part of @win->size for each; sets
 * @win->base, parts, map. Collective. Returns a code of MPI, the same in all members:
 * MPI_ERR_RMA_SHARED if they are not on one node.
 */
int win_share(struct vwin *win, MPI_Comm comm, MPI_Info info);
/* Unmap the shared memory of @win, if it has any. */
void win_shared_drop(struct vwin *win);
/* For MPI_Win_shared_query and its large form, @call. */
int win_shared_part(MPI_Win win, int rank, MPI_Aint *ret_size, int *ret_disp_unit, void **ret_base,
		    unsigned int call);

#endif
