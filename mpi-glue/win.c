// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: making and freeing them, and facts that the application may ask, which are kept in the
 * descriptor.
 *
 * Memory that MPI_Win_allocate gives is the application's own heap, so that it is in the image:
 * in the lower half the window is made by MPI_Win_create. Epochs are in epoch.c, memory of shared
 * windows in win_shared.c.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

/* Drop the hint no_locks, which a program that does not lock may give: Stillpoint itself locks. */
LOWER_TEXT static int allow_locks(MPI_Info info, MPI_Info *ret_info)
{
	char value[6];
	int flag, rc;

	*ret_info = info;
	if (info == real_info(MPI_INFO_NULL))
		return 0;
	rc = lower_MPI_Info_get(info, "no_locks", sizeof(value) - 1, value, &flag);
	if (rc || !flag)
		return rc;
	rc = lower_MPI_Info_dup(info, ret_info);
	return rc ? rc : lower_MPI_Info_delete(*ret_info, "no_locks");
}

LOWER_TEXT static int made_below(struct vwin *win, MPI_Comm comm, MPI_Win real)
{
	int rc;

	win->obj.real = ABI_BITS(real);
	lower_MPI_Win_set_errhandler(real, real_errh(MPI_ERRORS_RETURN));
	rc = words_make_below(win, comm);
	return rc ? rc : lower_MPI_Win_lock_all(MPI_MODE_NOCHECK, real);
}

LOWER_TEXT int win_make_below(struct vwin *win, MPI_Comm comm, MPI_Info info)
{
	MPI_Info allowed;
	MPI_Win real;
	int rc = allow_locks(info, &allowed);

	if (rc)
		return rc;
	if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
		rc = lower_MPI_Win_create_dynamic(allowed, comm, &real);
	else if (win->map)
		rc = lower_MPI_Win_create(win->map, (MPI_Aint)win->map_size, 1, allowed, comm,
					  &real);
	else
		rc = lower_MPI_Win_create(win->base, win->size, win->disp_unit, allowed, comm,
					  &real);
	if (allowed != info)
		lower_MPI_Info_free(&allowed);
	return rc ? rc : made_below(win, comm, real);
}

void win_drop(struct vwin *win)
{
	while (win->regions) {
		struct win_region *region = win->regions;

		win->regions = region->next;
		free(region);
	}
	win_shared_drop(win);
	words_drop(win);
	free(win->target);
	free(win->to);
	free(win->from);
	free(win->saved);
	free(win->name);
}

LOWER_TEXT bool win_info_says(MPI_Info info, const char *key)
{
	char value[6] = "";
	int flag = 0;

	if (info != real_info(MPI_INFO_NULL))
		lower_MPI_Info_get(info, key, sizeof(value) - 1, value, &flag);
	return flag && !strcmp(value, "true");
}

/* Return a new descriptor that has no real window yet; NULL: no memory. */
LOWER_TEXT static struct vwin *win_new(MPI_Comm comm, MPI_Info info, int flavor, int disp_unit)
{
	struct vwin *win = (struct vwin *)vobj_new(VK_WIN, 0);

	if (!win)
		return NULL;
	win->errh = ABI_ERRH_FIRST;
	win->flavor = flavor;
	win->disp_unit = disp_unit;
	win->without_locks = win_info_says(real_info(info), "no_locks");
	if (lower_MPI_Comm_rank(real_comm(comm), &win->rank) ||
	    lower_MPI_Comm_size(real_comm(comm), &win->nr))
		win->nr =
			1; /* invalid communicator: the library reports it on making the window */
	win->target = calloc((size_t)win->nr, 1);
	if (words_alloc(win) && win->target)
		return win;
	vobj_put(&win->obj);
	return NULL;
}

static int win_made(struct vwin *win, MPI_Comm comm, int rc, MPI_Win *ret_win, unsigned int call)
{
	if (rc) {
		if (win && win->owned)
			free(win->base);
		if (win)
			vobj_put(&win->obj);
		return fail_comm(comm, rc, call);
	}
	win->comm = vobj_get(vobj_comm(comm));
	win->order = win->comm ? ((struct vcomm *)win->comm)->wins++ : 0;
	win->model = abi_win_model((MPI_Win)win->obj.real);
	*ret_win = virt_win(&win->obj);
	if (counter_of(comm))
		quiesce_shares_count(call);
	return MPI_SUCCESS;
}

LOWER_TEXT int PMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
			       MPI_Comm comm, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_create, counter_of(comm));
	struct vwin *desc = win_new(comm, info, MPI_WIN_FLAVOR_CREATE, disp_unit);
	int rc;

	if (!desc) {
		collective_not_begun(&mark, counter_of(comm));
		return fail_comm(comm, MPI_ERR_NO_MEM, CALL_MPI_Win_create);
	}
	desc->base = base;
	desc->size = size;
	rc = win_make_below(desc, real_comm(comm), real_info(info));
	if (rc)
		collective_failed(&mark, counter_of(comm), rc);
	return win_made(desc, comm, rc, win, CALL_MPI_Win_create);
}
MPI_ALIAS(MPI_Win_create);

/*
 * Let the library allocate the window's memory. Open MPI cannot make a window over the program's
 * memory in some cases, in all ranks alike: for a window of one process, for example.
 */
LOWER_TEXT static int allocate_below(struct vwin *win, MPI_Comm comm, MPI_Info info)
{
	MPI_Win real;
	int rc;

	if (win->owned)
		free(win->base);
	win->owned = false;
	win_shared_drop(win);
	rc = lower_MPI_Win_allocate(win->size, win->disp_unit, info, comm, &win->base, &real);
	if (rc)
		return rc;
	glue_refuse(CALL_MPI_Win_allocate, "a window's memory is the library's own");
	return made_below(win, comm, real);
}

LOWER_TEXT int PMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
				 void *baseptr, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_allocate, counter_of(comm));
	struct vwin *desc = win_new(comm, info, MPI_WIN_FLAVOR_ALLOCATE, disp_unit);
	int rc;

	if (!desc) {
		collective_not_begun(&mark, counter_of(comm));
		return fail_comm(comm, MPI_ERR_NO_MEM, CALL_MPI_Win_allocate);
	}
	desc->size = size;
	rc = PMPI_Alloc_mem(size, MPI_INFO_NULL, &desc->base);
	if (rc) {
		collective_not_begun(&mark, counter_of(comm));
		vobj_put(&desc->obj);
		return rc;
	}
	desc->owned = true;
	rc = win_make_below(desc, real_comm(comm), real_info(info));
	if (rc && !desc->obj.real)
		rc = allocate_below(desc, real_comm(comm), real_info(info));
	if (rc)
		collective_failed(&mark, counter_of(comm), rc);
	else
		*(void **)baseptr = desc->base;
	return win_made(desc, comm, rc, win, CALL_MPI_Win_allocate);
}
MPI_ALIAS(MPI_Win_allocate);

LOWER_TEXT int PMPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
					void *baseptr, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_allocate_shared, counter_of(comm));
	struct vwin *desc = win_new(comm, info, MPI_WIN_FLAVOR_SHARED, disp_unit);
	int rc;

	if (!desc) {
		collective_not_begun(&mark, counter_of(comm));
		return fail_comm(comm, MPI_ERR_NO_MEM, CALL_MPI_Win_allocate_shared);
	}
	desc->size = size;
	rc = win_share(desc, real_comm(comm), real_info(info));
	if (!rc)
		rc = win_make_below(desc, real_comm(comm), real_info(info));
	if (rc && !desc->obj.real && desc->nr == 1)
		rc = allocate_below(desc, real_comm(comm), real_info(info));
	if (!rc)
		*(void **)baseptr = desc->base;
	return win_made(desc, comm, rc, win, CALL_MPI_Win_allocate_shared);
}
MPI_ALIAS(MPI_Win_allocate_shared);

LOWER_TEXT int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_create_dynamic, counter_of(comm));
	struct vwin *desc = win_new(comm, info, MPI_WIN_FLAVOR_DYNAMIC, 1);
	int rc;

	if (!desc) {
		collective_not_begun(&mark, counter_of(comm));
		return fail_comm(comm, MPI_ERR_NO_MEM, CALL_MPI_Win_create_dynamic);
	}
	rc = win_make_below(desc, real_comm(comm), real_info(info));
	if (rc)
		collective_failed(&mark, counter_of(comm), rc);
	return win_made(desc, comm, rc, win, CALL_MPI_Win_create_dynamic);
}
MPI_ALIAS(MPI_Win_create_dynamic);

LOWER_TEXT int PMPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
	GLUE_CALL(MPI_Win_attach);
	struct vwin *desc = win_of(win);
	struct win_region *region = calloc(1, sizeof(*region));
	int rc = region ? lower_MPI_Win_attach(real_win(win), base, size) : MPI_ERR_NO_MEM;

	if (rc || !desc) {
		free(region);
		return rc ? fail_win(win, rc, CALL_MPI_Win_attach) : rc;
	}
	region->base = base;
	region->size = size;
	region->next = desc->regions;
	desc->regions = region;
	return rc;
}
MPI_ALIAS(MPI_Win_attach);

LOWER_TEXT int PMPI_Win_detach(MPI_Win win, const void *base)
{
	GLUE_CALL(MPI_Win_detach);
	struct vwin *desc = win_of(win);
	struct win_region **at = desc ? &desc->regions : NULL, *gone;
	int rc = lower_MPI_Win_detach(real_win(win), base);

	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_detach);
	while (at && *at && (*at)->base != base)
		at = &(*at)->next;
	if (at && *at) {
		gone = *at;
		*at = gone->next;
		free(gone);
	}
	return rc;
}
MPI_ALIAS(MPI_Win_detach);

LOWER_TEXT int PMPI_Win_get_info(MPI_Win win, MPI_Info *info_used)
{
	GLUE_CALL(MPI_Win_get_info);
	const struct vwin *desc = win_of(win);
	MPI_Info real;
	int rc = lower_MPI_Win_get_info(real_win(win), &real);

	if (!rc && desc && desc->without_locks)
		rc = lower_MPI_Info_set(real, "no_locks", "true");
	if (rc)
		return fail_win(win, rc, CALL_MPI_Win_get_info);
	*info_used = wrap_info(real);
	return rc;
}
MPI_ALIAS(MPI_Win_get_info);

/* Collective: MPICH has a barrier in it. */
LOWER_TEXT int PMPI_Win_set_info(MPI_Win win, MPI_Info info)
{
	GLUE_COLLECTIVE(MPI_Win_set_info, counter_of_win(win));
	struct vwin *desc = win_of(win);
	MPI_Info allowed;
	int rc = allow_locks(real_info(info), &allowed);

	if (rc) {
		collective_not_begun(&mark, counter_of_win(win));
		return fail_win(win, rc, CALL_MPI_Win_set_info);
	}
	rc = lower_MPI_Win_set_info(real_win(win), allowed);
	if (desc && allowed != real_info(info)) {
		desc->without_locks = win_info_says(real_info(info), "no_locks");
		lower_MPI_Info_free(&allowed);
	}
	return rc ? fail_win(win, rc, CALL_MPI_Win_set_info) : rc;
}
MPI_ALIAS(MPI_Win_set_info);

LOWER_TEXT static int free_below(struct vwin *win)
{
	MPI_Win real = (MPI_Win)win->obj.real;
	int rc = lower_MPI_Win_unlock_all(real);

	if (!rc)
		rc = lower_MPI_Win_free(&real);
	return rc ? rc : words_free_below(win);
}

static struct counter *counter_if_idle(MPI_Win win)
{
	const struct vwin *desc = win_of(win);

	return desc && win_is_idle(desc) ? counter_of_win(win) : NULL;
}

LOWER_TEXT int PMPI_Win_free(MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_free, counter_if_idle(*win));
	struct vwin *desc = win_of(*win);
	int rc = !desc ? MPI_ERR_WIN : !win_is_idle(desc) ? MPI_ERR_RMA_SYNC : 0;

	if (!rc)
		rc = attrs_delete(&desc->attrs, VK_WIN, (uintptr_t)*win);
	if (rc)
		collective_not_begun(&mark, counter_if_idle(*win));
	else
		rc = free_below(desc);
	if (rc)
		return fail_win(*win, rc, CALL_MPI_Win_free);
	if (desc->owned)
		free(desc->base);
	vobj_release(&desc->obj);
	*win = MPI_WIN_NULL;
	return rc;
}
MPI_ALIAS(MPI_Win_free);
