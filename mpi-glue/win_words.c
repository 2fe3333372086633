// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the words of a window's members are (win.h), and how a member adds to another's.
 *
 * Members that are all on one node have their words in shared memory of the library, and add to
 * them by instructions of the processor: nobody waits for the progress of the member whose word
 * it is. That memory is the lower half's, so it is in no image and ties no ranks together: at a
 * cut each member copies its words to its heap, and a restart copies them back to wherever the
 * members are then. Members on several nodes have their words in the heap, behind a window on
 * which the library adds.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/win.h"
#include "mpi/calls.h"

/* Bytes of a member's words; the last 2 * nr are the member's alone. */
static size_t words_size(const struct vwin *win)
{
	return sizeof(struct win_words) + 4 * (size_t)win->nr * sizeof(uint64_t);
}

static MPI_Win words_window(const struct vwin *win)
{
	return (MPI_Win)win->words_below;
}

bool words_alloc(struct vwin *win)
{
	win->words_kept = calloc(1, words_size(win));
	win->words = win->words_kept;
	return win->words;
}

/* Are all members on this node, as the library says? Collective; all get the same answer. */
LOWER_TEXT static int words_are_near(const struct vwin *win, MPI_Comm comm, bool *ret_near)
{
	MPI_Comm node;
	int nr, rc = lower_MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0,
					       real_info(MPI_INFO_NULL), &node);

	if (rc)
		return rc;
	rc = lower_MPI_Comm_size(node, &nr);
	if (!rc)
		rc = lower_MPI_Comm_free(&node);
	*ret_near = nr == win->nr;
	return rc;
}

/* Ask the library for shared memory, and where in it each member's words are. Collective. */
LOWER_TEXT static int words_share(struct vwin *win, MPI_Comm comm)
{
	MPI_Win window;
	MPI_Aint size;
	void *own;
	int unit, rc;

	rc = lower_MPI_Win_allocate_shared((MPI_Aint)words_size(win), sizeof(uint64_t),
					   real_info(MPI_INFO_NULL), comm, &own, &window);
	if (rc)
		return rc;
	lower_MPI_Win_set_errhandler(window, real_errh(MPI_ERRORS_RETURN));
	win->words_below = ABI_BITS(window);
	win->words_beside = calloc((size_t)win->nr, sizeof(*win->words_beside));
	if (!win->words_beside)
		return MPI_ERR_NO_MEM;
	for (int i = 0; i < win->nr && !rc; i++)
		rc = lower_MPI_Win_shared_query(window, i, &size, &unit, &win->words_beside[i]);
	if (!rc)
		memcpy(own, win->words_kept, words_size(win));
	return rc;
}

static void words_part(struct vwin *win)
{
	free(win->words_beside);
	win->words_beside = NULL;
	win->words = win->words_kept;
}

/*
 * Try shared memory. Collective; *@ret_done is the same in all members. Memory that some members
 * got and others did not stays until the end, as nobody could free it alone.
 */
LOWER_TEXT static int words_make_near(struct vwin *win, MPI_Comm comm, bool *ret_done)
{
	int failed = words_share(win, comm) != 0, worst = 0, rc;

	/* a barrier as well: nobody may add to words that their member has not copied yet */
	rc = lower_MPI_Allreduce(&failed, &worst, 1, real_dtype(MPI_INT), real_op(MPI_MAX), comm);
	*ret_done = !rc && !worst;
	if (*ret_done)
		win->words = win->words_beside[win->rank];
	else
		words_part(win);
	return rc;
}

LOWER_TEXT int words_make_below(struct vwin *win, MPI_Comm comm)
{
	size_t others = words_size(win) - 2 * (size_t)win->nr * sizeof(uint64_t);
	bool done = false;
	MPI_Win window;
	int rc;

	words_part(win);
	if (win->nr == 1)
		return 0;
	rc = words_are_near(win, comm, &done);
	if (!rc && done)
		rc = words_make_near(win, comm, &done);
	if (rc || done)
		return rc;
	rc = lower_MPI_Win_create(win->words, (MPI_Aint)others, sizeof(uint64_t),
				  real_info(MPI_INFO_NULL), comm, &window);
	if (rc)
		return rc;
	lower_MPI_Win_set_errhandler(window, real_errh(MPI_ERRORS_RETURN));
	win->words_below = ABI_BITS(window);
	return lower_MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
}

LOWER_TEXT int words_free_below(struct vwin *win)
{
	MPI_Win window = words_window(win);
	int rc = 0;

	if (win->nr == 1)
		return 0;
	if (!win->words_beside)
		rc = lower_MPI_Win_unlock_all(window);
	words_part(win);
	return rc ? rc : lower_MPI_Win_free(&window);
}

LOWER_TEXT int words_flush(const struct vwin *win)
{
	return win->nr == 1 || win->words_beside ? 0 : lower_MPI_Win_flush_all(words_window(win));
}

void words_keep(struct vwin *win)
{
	if (win->words_beside)
		memcpy(win->words_kept, win->words, words_size(win));
}

void words_drop(struct vwin *win)
{
	words_part(win);
	free(win->words_kept);
}

/* Word @i of member @rank, if this process can add to it by itself; else NULL. */
static uint64_t *word_near(const struct vwin *win, int rank, size_t i)
{
	if (win->words_beside)
		return (uint64_t *)win->words_beside[rank] + i;
	return win->nr == 1 ? (uint64_t *)win->words + i : NULL;
}

LOWER_TEXT int word_add(const struct vwin *win, int rank, size_t i, uint64_t *value)
{
	uint64_t add = *value, *near = word_near(win, rank, i);
	MPI_Win window = words_window(win);
	int rc;

	if (near) {
		*value = __atomic_fetch_add(near, add, __ATOMIC_SEQ_CST);
		return 0;
	}
	rc = lower_MPI_Fetch_and_op(&add, value, real_dtype(MPI_UINT64_T), rank, (MPI_Aint)i,
				    real_op(MPI_SUM), window);
	return rc ? rc : lower_MPI_Win_flush(rank, window);
}

LOWER_TEXT int words_add_all(const struct vwin *win, size_t i, uint64_t add, uint64_t was[])
{
	MPI_Datatype dtype = real_dtype(MPI_UINT64_T);
	MPI_Win window = words_window(win);
	int rc = 0;

	for (int k = 0; k < win->nr && !rc; k++) {
		uint64_t *near = word_near(win, k, i);

		if (near)
			was[k] = __atomic_fetch_add(near, add, __ATOMIC_SEQ_CST);
		else
			rc = lower_MPI_Fetch_and_op(&add, &was[k], dtype, k, (MPI_Aint)i,
						    real_op(MPI_SUM), window);
	}
	return rc || win->nr == 1 || win->words_beside ? rc : lower_MPI_Win_flush_all(window);
}

LOWER_TEXT int words_tell(const struct vwin *win, size_t i, uint64_t add, int n, const int rank[])
{
	MPI_Datatype dtype = real_dtype(MPI_UINT64_T);
	MPI_Win window = words_window(win);
	int rc = 0;

	for (int k = 0; k < n && !rc; k++) {
		int to = rank ? rank[k] : k;
		uint64_t *near = word_near(win, to, i);

		if (near)
			__atomic_add_fetch(near, add, __ATOMIC_SEQ_CST);
		else
			rc = lower_MPI_Accumulate(&add, 1, dtype, to, (MPI_Aint)i, 1, dtype,
						  real_op(MPI_SUM), window);
	}
	if (win->nr == 1 || win->words_beside)
		return rc;
	for (int k = 0; k < n && !rc; k++)
		rc = lower_MPI_Win_flush_local(rank ? rank[k] : k, window);
	return rc;
}
