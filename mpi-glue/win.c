// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows. Memory that MPI_Win_allocate gives is the application's own heap, so that it is in the
 * image: below it is a window like any other. What the application may ask of a window is kept
 * in the descriptor. Shared windows are memory of the lower half, and a checkpoint is refused
 * while a program uses them.
 */
#include <stdlib.h>

#include "mpi-glue/collective.h"
#include "mpi/calls.h"

LOWER_TEXT static int win_made(MPI_Comm comm, MPI_Win real, const struct vwin *as, MPI_Win *win)
{
	struct vwin *desc;

	*win = wrap_win(real);
	desc = (struct vwin *)vobj_win(*win);
	if (!desc)
		return MPI_ERR_INTERN;
	desc->comm = vobj_get(vobj_comm(comm));
	desc->errh = MPI_ERRORS_ARE_FATAL;
	desc->base = as->base;
	desc->size = as->size;
	desc->disp_unit = as->disp_unit;
	desc->flavor = as->flavor;
	desc->model = abi_win_model(real);
	desc->owned = as->owned;
	lower_MPI_Win_set_errhandler(real, real_errh(MPI_ERRORS_RETURN));
	return MPI_SUCCESS;
}

LOWER_TEXT int PMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
			       MPI_Comm comm, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_create, counter_of(comm));
	const struct vwin as = { .base = base, .size = size, .disp_unit = disp_unit,
				 .flavor = MPI_WIN_FLAVOR_CREATE };
	MPI_Win real;
	int rc = lower_MPI_Win_create(base, size, disp_unit, real_info(info), real_comm(comm),
				      &real);

	return rc ? fail_comm(comm, rc, CALL_MPI_Win_create) : win_made(comm, real, &as, win);
}
MPI_ALIAS(MPI_Win_create);

LOWER_TEXT int PMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
				 void *baseptr, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_allocate, counter_of(comm));
	struct vwin as = { .size = size, .disp_unit = disp_unit, .owned = true,
			   .flavor = MPI_WIN_FLAVOR_ALLOCATE };
	MPI_Info info_down = real_info(info);
	MPI_Comm comm_down = real_comm(comm);
	MPI_Win real;
	int rc = PMPI_Alloc_mem(size, MPI_INFO_NULL, &as.base);

	if (rc)
		return rc;
	rc = lower_MPI_Win_create(as.base, size, disp_unit, info_down, comm_down, &real);
	if (rc) {
		/* Open MPI cannot in some cases, all ranks alike: of one process, for one */
		free(as.base);
		as.owned = false;
		rc = lower_MPI_Win_allocate(size, disp_unit, info_down, comm_down, &as.base,
					    &real);
		if (rc)
			return fail_comm(comm, rc, CALL_MPI_Win_allocate);
		glue_refuse(CALL_MPI_Win_allocate, "its memory is the library's own");
	}
	*(void **)baseptr = as.base;
	return win_made(comm, real, &as, win);
}
MPI_ALIAS(MPI_Win_allocate);

LOWER_TEXT int PMPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
					void *baseptr, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_allocate_shared, counter_of(comm));
	struct vwin as = { .size = size, .disp_unit = disp_unit,
			   .flavor = MPI_WIN_FLAVOR_SHARED };
	MPI_Win real;
	int rc;

	glue_refuse(CALL_MPI_Win_allocate_shared, "shared windows are not restored yet");
	rc = lower_MPI_Win_allocate_shared(size, disp_unit, real_info(info), real_comm(comm),
					   &as.base, &real);
	if (rc)
		return fail_comm(comm, rc, CALL_MPI_Win_allocate_shared);
	*(void **)baseptr = as.base;
	return win_made(comm, real, &as, win);
}
MPI_ALIAS(MPI_Win_allocate_shared);

LOWER_TEXT int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_create_dynamic, counter_of(comm));
	const struct vwin as = { .disp_unit = 1, .flavor = MPI_WIN_FLAVOR_DYNAMIC };
	MPI_Win real;
	int rc = lower_MPI_Win_create_dynamic(real_info(info), real_comm(comm), &real);

	return rc ? fail_comm(comm, rc, CALL_MPI_Win_create_dynamic) :
		    win_made(comm, real, &as, win);
}
MPI_ALIAS(MPI_Win_create_dynamic);

LOWER_TEXT int PMPI_Win_free(MPI_Win *win)
{
	GLUE_COLLECTIVE(MPI_Win_free, counter_of_win(*win));
	struct vwin *desc = (struct vwin *)vobj_win(*win);
	MPI_Win real = real_win(*win);
	int rc = 0;

	if (desc)
		rc = attrs_delete(&desc->attrs, VK_WIN, (uintptr_t)*win);
	if (!rc)
		rc = lower_MPI_Win_free(&real);
	if (rc)
		return fail_win(*win, rc, CALL_MPI_Win_free);
	if (desc && desc->owned)
		free(desc->base);
	vobj_release(&desc->obj);
	*win = MPI_WIN_NULL;
	return rc;
}
MPI_ALIAS(MPI_Win_free);
