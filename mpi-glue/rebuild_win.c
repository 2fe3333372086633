// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows of a restart: over the same memory, with the names, hints and attached regions they had.
 *
 * All members of a communicator make its windows in the order they were made the first time.
 * Communicators take turns by ascending identity, one after the other in the whole job: Open MPI
 * 4.1.4 names a file by node and the communicator's number, which communicators without common
 * members may share (osc/rdma). The state of epochs is in memory (win.h), so no epoch is
 * repeated.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi-glue/rebuild.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

static struct vwin *win_at(uint32_t i)
{
	struct vobj *obj = vobj_at(VK_WIN, i);

	return obj && obj->real ? (struct vwin *)obj : NULL;
}

LOWER_TEXT static int rebuild_win_ask(struct vwin *win)
{
	MPI_Win real = (MPI_Win)win->obj.real;
	MPI_Info info;
	int length, rc;

	words_keep(win);
	if (!win->name)
		win->name = calloc(1, MPI_MAX_OBJECT_NAME);
	if (!win->name)
		return -ENOMEM;
	if (lower_MPI_Win_get_name(real, win->name, &length) ||
	    lower_MPI_Win_get_info(real, &info))
		return -EIO;
	rc = rebuild_ask_info(info, &win->saved);
	lower_MPI_Info_free(&info);
	return rc;
}

/*
 * Return the real communicator to make the window on; 0: there is none. For a window of one
 * process whose communicator is gone, MPI_COMM_SELF does as well.
 */
static uintptr_t rebuild_win_comm_of(const struct vwin *win)
{
	const struct vcomm *comm = (const struct vcomm *)win->comm;
	uintptr_t below = comm ? comm_below(comm) : 0;

	return below || win->nr > 1 ? below : (uintptr_t)real_comm(MPI_COMM_SELF);
}

int rebuild_ask_wins(char *ret_why, size_t size)
{
	int rc = 0;

	for (uint32_t i = 0; i < glue.table[VK_WIN].top && !rc; i++) {
		if (!win_at(i))
			continue;
		if (!rebuild_win_comm_of(win_at(i))) {
			snprintf(ret_why, size,
				 "MPI_Win_create: the communicator of a window was freed");
			return -ENOTSUP;
		}
		rc = rebuild_win_ask(win_at(i));
	}
	return rc;
}

void rebuild_forget_wins(void)
{
	for (uint32_t i = 0; i < glue.table[VK_WIN].top; i++) {
		struct vwin *win = win_at(i);

		if (!win)
			continue;
		free(win->saved);
		win->saved = NULL;
	}
}

LOWER_TEXT static int make_again(struct vwin *win)
{
	MPI_Info info;
	int rc = rebuild_info(win->saved, &info);

	if (rc)
		return rc;
	rc = win_make_below(win, (MPI_Comm)rebuild_win_comm_of(win), info);
	lower_MPI_Info_free(&info);
	for (struct win_region *region = win->regions; region && !rc; region = region->next)
		rc = lower_MPI_Win_attach((MPI_Win)win->obj.real, region->base, region->size);
	if (!rc && win->name[0])
		rc = lower_MPI_Win_set_name((MPI_Win)win->obj.real, win->name);
	return rc;
}

static uint64_t id_of(const struct vwin *win)
{
	return win->comm ? ((struct vcomm *)win->comm)->coll.id : 0;
}

static int rebuild_win_by_comm(const void *a, const void *b)
{
	const struct vwin *x = *(struct vwin *const *)a, *y = *(struct vwin *const *)b;

	if (id_of(x) != id_of(y))
		return id_of(x) < id_of(y) ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/*
 * Agree on the lowest identity of a communicator that still has windows to make, in any rank;
 * UINT64_MAX: none. The key is signed, in the same order: MPICH 4.0.2 compares MPI_UINT64_T as if
 * it were signed.
 */
LOWER_TEXT static int next_turn(uint64_t mine, uint64_t *ret_id)
{
	int64_t key = (int64_t)(mine ^ 1ull << 63), least = 0;
	int rc = lower_MPI_Allreduce(&key, &least, 1, real_dtype(MPI_INT64_T), real_op(MPI_MIN),
				     real_comm(MPI_COMM_WORLD));

	*ret_id = (uint64_t)least ^ 1ull << 63;
	return rc;
}

static int make_all(struct vwin **all, size_t n, size_t *ret_made)
{
	size_t i = 0;
	int rc = 0;

	/* windows of this process alone */
	for (; i < n && !rc && !id_of(all[i]); i += !rc)
		rc = make_again(all[i]);
	while (!rc) {
		uint64_t id;

		rc = next_turn(i < n ? id_of(all[i]) : UINT64_MAX, &id);
		if (id == UINT64_MAX)
			break;
		for (; i < n && !rc && id_of(all[i]) == id; i += !rc)
			rc = make_again(all[i]);
	}
	*ret_made = i;
	return rc;
}

int rebuild_wins(char *ret_why, size_t size)
{
	const struct vtable *table = &glue.table[VK_WIN];
	struct vwin **all = malloc(((size_t)table->top + 1) * sizeof(*all));
	size_t n = 0, made;
	int rc;

	if (!all) {
		snprintf(ret_why, size, "out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < table->top; i++)
		if (win_at(i))
			all[n++] = win_at(i);
	qsort(all, n, sizeof(*all), rebuild_win_by_comm);
	rc = make_all(all, n, &made);
	if (rc)
		snprintf(ret_why, size, "window %zu of %zu: code %d of the new library", made + 1,
			 n, rc);
	free(all);
	return rc ? -EIO : 0;
}
