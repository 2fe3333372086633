// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tool interface: handles of variables that are bound to an object. The program passes the
 * address of the object's handle, and only the variable tells the object's kind. The library gets
 * the address of a real handle, which lives as long as the call; the program's variable need not
 * live longer either.
 *
 * For variables of no object, and those that the library does not know, the address is passed on
 * unchanged.
 */
#include "mpi/calls.h"

union real_object {
	MPI_Comm comm;
	MPI_Datatype dtype;
	MPI_Errhandler errh;
	MPI_File file;
	MPI_Group group;
	MPI_Op op;
	MPI_Request req;
	MPI_Win win;
	MPI_Message msg;
	MPI_Info info;
};

/* Return the address to pass to the lower half in place of @object. */
static void *object_below(int bind, void *object, union real_object *real)
{
	if (!object)
		return NULL;
	switch (bind) {
#define BOUND(KIND, name, type) \
	case MPI_T_BIND_MPI_##KIND: \
		real->name = real_##name(*(type *)object); \
		return real;
	BOUND(COMM, comm, MPI_Comm)
	BOUND(DATATYPE, dtype, MPI_Datatype)
	BOUND(ERRHANDLER, errh, MPI_Errhandler)
	BOUND(FILE, file, MPI_File)
	BOUND(GROUP, group, MPI_Group)
	BOUND(OP, op, MPI_Op)
	BOUND(REQUEST, req, MPI_Request)
	BOUND(WIN, win, MPI_Win)
	BOUND(MESSAGE, msg, MPI_Message)
	BOUND(INFO, info, MPI_Info)
	default:
		return object;
	}
}

/* Ask for every value, though MPI allows NULL for those not wanted: not every library takes it. */
LOWER_TEXT static int cvar_bind(int index)
{
	int name_len = 0, desc_len = 0, verbosity, bind, scope;
	MPI_Datatype dtype;
	MPI_T_enum enumtype;

	if (lower_MPI_T_cvar_get_info(index, NULL, &name_len, &verbosity, &dtype, &enumtype, NULL,
				      &desc_len, &bind, &scope))
		return MPI_T_BIND_NO_OBJECT;
	return bind;
}

LOWER_TEXT static int pvar_bind(int index)
{
	int name_len = 0, desc_len = 0, verbosity, class, bind, readonly, continuous, atomic;
	MPI_Datatype dtype;
	MPI_T_enum enumtype;

	if (lower_MPI_T_pvar_get_info(index, NULL, &name_len, &verbosity, &class, &dtype, &enumtype,
				      NULL, &desc_len, &bind, &readonly, &continuous, &atomic))
		return MPI_T_BIND_NO_OBJECT;
	return bind;
}

static void tool_begin(unsigned int call)
{
	if (unlikely(!glue.lower))
		glue_load();
	glue_refuse(call, "what tools set is not restored yet");
}

LOWER_TEXT int PMPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
					int *count)
{
	GLUE_CALL(MPI_T_cvar_handle_alloc);
	union real_object real;

	tool_begin(CALL_MPI_T_cvar_handle_alloc);
	return lower_MPI_T_cvar_handle_alloc(cvar_index, object_below(cvar_bind(cvar_index),
								      obj_handle, &real),
					     handle, count);
}
MPI_ALIAS(MPI_T_cvar_handle_alloc);

LOWER_TEXT int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index,
					void *obj_handle, MPI_T_pvar_handle *handle, int *count)
{
	GLUE_CALL(MPI_T_pvar_handle_alloc);
	union real_object real;

	tool_begin(CALL_MPI_T_pvar_handle_alloc);
	return lower_MPI_T_pvar_handle_alloc(session, pvar_index,
					     object_below(pvar_bind(pvar_index), obj_handle, &real),
					     handle, count);
}
MPI_ALIAS(MPI_T_pvar_handle_alloc);
