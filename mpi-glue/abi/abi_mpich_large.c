// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions that only MPICH has and that are not generated: large counts of calls with a body by
 * hand, sessions' error handlers, extensions that hand functions to the library.
 *
 * An unsupported function returns an error code, as the library does for functions it lacks.
 */
#include <stdlib.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

LOWER_TEXT int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
	GLUE_CALL(MPI_Type_size_c);
	int rc = lower_MPI_Type_size_c(real_dtype(datatype), size);

	return rc ? fail_world(rc, CALL_MPI_Type_size_c) : rc;
}
MPI_ALIAS(MPI_Type_size_c);

LOWER_TEXT int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers,
					MPI_Count max_addresses, MPI_Count max_large_counts,
					MPI_Count max_datatypes, int integers[],
					MPI_Aint addresses[], MPI_Count large_counts[],
					MPI_Datatype datatypes[])
{
	GLUE_CALL(MPI_Type_get_contents_c);
	MPI_Count n, ignored;
	int combiner;
	int rc = lower_MPI_Type_get_contents_c(real_dtype(datatype), max_integers, max_addresses,
					       max_large_counts, max_datatypes, integers, addresses,
					       large_counts, datatypes);

	if (!rc)
		rc = lower_MPI_Type_get_envelope_c(real_dtype(datatype), &ignored, &ignored,
						   &ignored, &n, &combiner);
	if (rc)
		return fail_world(rc, CALL_MPI_Type_get_contents_c);
	record_contents(datatype, n < max_datatypes ? n : max_datatypes, datatypes,
			CALL_MPI_Type_get_contents_c);
	return rc;
}
MPI_ALIAS(MPI_Type_get_contents_c);

/*
 * The arguments lie in @d->counts as MPI_Type_get_contents_c returns them. Displacements in bytes
 * are counts as well.
 */
LOWER_TEXT static int construct_indexed(const struct vdtype *d, const MPI_Datatype in[],
					MPI_Datatype *type)
{
	const MPI_Count *c = d->counts;

	switch (d->combiner) {
	case MPI_COMBINER_INDEXED:
		return lower_MPI_Type_indexed_c(c[0], c + 1, c + 1 + c[0], in[0], type);
	case MPI_COMBINER_HINDEXED:
		return lower_MPI_Type_create_hindexed_c(c[0], c + 1, c + 1 + c[0], in[0], type);
	case MPI_COMBINER_INDEXED_BLOCK:
		return lower_MPI_Type_create_indexed_block_c(c[0], c[1], c + 2, in[0], type);
	case MPI_COMBINER_HINDEXED_BLOCK:
		return lower_MPI_Type_create_hindexed_block_c(c[0], c[1], c + 2, in[0], type);
	case MPI_COMBINER_STRUCT:
		return lower_MPI_Type_create_struct_c(c[0], c + 1, c + 1 + c[0], in, type);
	}
	return MPI_ERR_TYPE;
}

LOWER_TEXT int abi_construct_large(const struct vdtype *d, const MPI_Datatype in[],
				   MPI_Datatype *type)
{
	const MPI_Count *c = d->counts;
	const int *n = d->ints;

	switch (d->combiner) {
	case MPI_COMBINER_CONTIGUOUS:
		return lower_MPI_Type_contiguous_c(c[0], in[0], type);
	case MPI_COMBINER_VECTOR:
		return lower_MPI_Type_vector_c(c[0], c[1], c[2], in[0], type);
	case MPI_COMBINER_HVECTOR:
		return lower_MPI_Type_create_hvector_c(c[0], c[1], c[2], in[0], type);
	case MPI_COMBINER_RESIZED:
		return lower_MPI_Type_create_resized_c(in[0], c[0], c[1], type);
	case MPI_COMBINER_SUBARRAY:
		return lower_MPI_Type_create_subarray_c(n[0], c, c + n[0], c + 2 * n[0], n[1],
							in[0], type);
	case MPI_COMBINER_DARRAY:
		return lower_MPI_Type_create_darray_c(n[0], n[1], n[2], c, n + 3, n + 3 + n[2],
						      n + 3 + 2 * n[2], n[3 + 3 * n[2]], in[0],
						      type);
	}
	return construct_indexed(d, in, type);
}

LOWER_TEXT int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm,
					MPI_Request *request)
{
	GLUE_COLLECTIVE_NOW(MPI_Comm_idup_with_info, counter_of(comm));
	MPI_Request real;
	struct vcomm *desc;
	MPI_Comm *slot;
	int rc = comm_dup_begin(comm, &desc, &slot);

	bool asked = !rc;

	if (asked)
		rc = lower_MPI_Comm_idup_with_info(real_comm(comm), real_info(info),
						    newcomm ? slot : NULL, request ? &real : NULL);
	if (rc) {
		comm_dup_uncount(&mark, comm, rc, asked);
		return comm_dup_failed(comm, desc, newcomm, rc, CALL_MPI_Comm_idup_with_info);
	}
	comm_dup_done(comm, desc, newcomm, CALL_MPI_Comm_idup_with_info);
	*request = comm_request(real, comm, desc);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Comm_idup_with_info);

LOWER_TEXT int PMPI_Op_create_c(MPI_User_function_c *function, int commute, MPI_Op *op)
{
	GLUE_CALL(MPI_Op_create_c);
	void *stub;
	MPI_Op real = MPI_OP_NULL;
	struct vop *desc = op_new((void *)function, commute, true, &stub);
	int rc = desc ? lower_MPI_Op_create_c((MPI_User_function_c *)stub, commute, &real) :
			MPI_ERR_INTERN;

	return op_made(desc, real, rc, op, CALL_MPI_Op_create_c);
}
MPI_ALIAS(MPI_Op_create_c);

/* The ROMIO of MPICH 4.0 does not use a program's conversions: only the name is registered. */
int PMPI_Register_datarep_c(const char *datarep,
			    MPI_Datarep_conversion_function_c *read_conversion_fn,
			    MPI_Datarep_conversion_function_c *write_conversion_fn,
			    MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
	if (read_conversion_fn || write_conversion_fn)
		return fail_file(MPI_FILE_NULL, MPI_ERR_CONVERSION, CALL_MPI_Register_datarep_c);
	return PMPI_Register_datarep(datarep, NULL, NULL, dtype_file_extent_fn, extra_state);
}
MPI_ALIAS(MPI_Register_datarep_c);

/* The displacement unit of a window is an int in MPI-3's attribute, and in practice. */
int PMPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
		      MPI_Win *win)
{
	if (disp_unit != (int)disp_unit)
		return fail_comm(comm, MPI_ERR_DISP, CALL_MPI_Win_create_c);
	return PMPI_Win_create(base, size, (int)disp_unit, info, comm, win);
}
MPI_ALIAS(MPI_Win_create_c);

int PMPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
			void *baseptr, MPI_Win *win)
{
	if (disp_unit != (int)disp_unit)
		return fail_comm(comm, MPI_ERR_DISP, CALL_MPI_Win_allocate_c);
	return PMPI_Win_allocate(size, (int)disp_unit, info, comm, baseptr, win);
}
MPI_ALIAS(MPI_Win_allocate_c);

int PMPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
			       void *baseptr, MPI_Win *win)
{
	if (disp_unit != (int)disp_unit)
		return fail_comm(comm, MPI_ERR_DISP, CALL_MPI_Win_allocate_shared_c);
	return PMPI_Win_allocate_shared(size, (int)disp_unit, info, comm, baseptr, win);
}
MPI_ALIAS(MPI_Win_allocate_shared_c);

int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
			    void *baseptr)
{
	int unit = 1;
	int rc = win_shared_part(win, rank, size, &unit, baseptr, CALL_MPI_Win_shared_query_c);

	*disp_unit = unit;
	return rc;
}
MPI_ALIAS(MPI_Win_shared_query_c);

/* Unsupported: the library keeps a session's handler, and would call it from the lower half. */
int PMPI_Session_create_errhandler(MPI_Session_errhandler_function *function,
				   MPI_Errhandler *errhandler)
{
	return MPI_ERR_UNSUPPORTED_OPERATION;
}
MPI_ALIAS(MPI_Session_create_errhandler);

LOWER_TEXT int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
	GLUE_CALL(MPI_Session_set_errhandler);
	return lower_MPI_Session_set_errhandler(session, errhandler);
}
MPI_ALIAS(MPI_Session_set_errhandler);

LOWER_TEXT int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler *errhandler)
{
	GLUE_CALL(MPI_Session_get_errhandler);
	return lower_MPI_Session_get_errhandler(session, errhandler);
}
MPI_ALIAS(MPI_Session_get_errhandler);

LOWER_TEXT int PMPI_Session_call_errhandler(MPI_Session session, int errorcode)
{
	GLUE_CALL(MPI_Session_call_errhandler);
	return lower_MPI_Session_call_errhandler(session, errorcode);
}
MPI_ALIAS(MPI_Session_call_errhandler);

/* @what: error_class, error_code or error_string */
#define DELETE_ERROR(what)						\
LOWER_TEXT int PMPIX_Delete_##what(int number)				\
{									\
	GLUE_CALL(MPIX_Delete_##what);					\
	int rc = lower_MPIX_Delete_##what(number);			\
									\
	if (rc)								\
		return fail_world(rc, CALL_MPIX_Delete_##what);		\
	errors_forget(CALL_MPI_Add_##what, number);			\
	return rc;							\
}									\
MPI_ALIAS(MPIX_Delete_##what)

DELETE_ERROR(error_class);
DELETE_ERROR(error_code);
DELETE_ERROR(error_string);

/* Accelerator memory cannot be checkpointed: tell the application that there is none. */
int PMPIX_Query_cuda_support(void)
{
	return 0;
}
MPI_ALIAS(MPIX_Query_cuda_support);

int PMPIX_Query_hip_support(void)
{
	return 0;
}
MPI_ALIAS(MPIX_Query_hip_support);

int PMPIX_Query_ze_support(void)
{
	return 0;
}
MPI_ALIAS(MPIX_Query_ze_support);

int PMPIX_GPU_query_support(int gpu_type, int *is_supported)
{
	*is_supported = 0;
	return MPI_SUCCESS;
}
MPI_ALIAS(MPIX_GPU_query_support);

/* Extensions for ROMIO as a separate library. */
int PMPIX_Grequest_class_create(MPI_Grequest_query_function *query_fn,
				MPI_Grequest_free_function *free_fn,
				MPI_Grequest_cancel_function *cancel_fn,
				MPIX_Grequest_poll_function *poll_fn,
				MPIX_Grequest_wait_function *wait_fn,
				MPIX_Grequest_class *greq_class)
{
	return fail_world(MPI_ERR_UNSUPPORTED_OPERATION, CALL_MPIX_Grequest_class_create);
}
MPI_ALIAS(MPIX_Grequest_class_create);

int PMPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void *extra_state,
				  MPI_Request *request)
{
	return fail_world(MPI_ERR_UNSUPPORTED_OPERATION, CALL_MPIX_Grequest_class_allocate);
}
MPI_ALIAS(MPIX_Grequest_class_allocate);

int PMPIX_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
			 MPI_Grequest_cancel_function *cancel_fn,
			 MPIX_Grequest_poll_function *poll_fn, MPIX_Grequest_wait_function *wait_fn,
			 void *extra_state, MPI_Request *request)
{
	return fail_world(MPI_ERR_UNSUPPORTED_OPERATION, CALL_MPIX_Grequest_start);
}
MPI_ALIAS(MPIX_Grequest_start);

/* MPICH 4.0 has no events, so calls that would register for an event have none to name. */
int PMPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
			  MPI_Datatype datatypes[], MPI_Aint displacements[], int *num_elements,
			  MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
			  int *bind)
{
	return MPI_T_ERR_INVALID_INDEX;
}
MPI_ALIAS(MPI_T_event_get_info);

int PMPI_T_event_callback_get_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
				   MPI_Info *info_used)
{
	return MPI_T_ERR_INVALID_HANDLE;
}
MPI_ALIAS(MPI_T_event_callback_get_info);

int PMPI_T_event_callback_set_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
				   MPI_Info info)
{
	return MPI_T_ERR_INVALID_HANDLE;
}
MPI_ALIAS(MPI_T_event_callback_set_info);

int PMPI_T_event_handle_free(MPI_T_event_registration registration, void *user_data,
			     MPI_T_event_free_cb_function function)
{
	return MPI_T_ERR_INVALID_HANDLE;
}
MPI_ALIAS(MPI_T_event_handle_free);

int PMPI_T_event_register_callback(MPI_T_event_registration registration, MPI_T_cb_safety safety,
				   MPI_Info info, void *user_data,
				   MPI_T_event_cb_function function)
{
	return MPI_T_ERR_INVALID_HANDLE;
}
MPI_ALIAS(MPI_T_event_register_callback);

int PMPI_T_event_set_dropped_handler(MPI_T_event_registration registration,
				     MPI_T_event_dropped_cb_function function)
{
	return MPI_T_ERR_INVALID_HANDLE;
}
MPI_ALIAS(MPI_T_event_set_dropped_handler);

/* The Fortran integer of a file is its slot. */
MPI_Fint PMPI_File_c2f(MPI_File file)
{
	return file ? (MPI_Fint)vobj_file(file)->index + 1 : 0;
}
MPI_ALIAS(MPI_File_c2f);

MPI_File PMPI_File_f2c(MPI_Fint file)
{
	return file > 0 ? (MPI_File)vobj_at(VK_FILE, (uint32_t)file - 1) : MPI_FILE_NULL;
}
MPI_ALIAS(MPI_File_f2c);

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
	return base + disp;
}
MPI_ALIAS(MPI_Aint_add);

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
	return addr1 - addr2;
}
MPI_ALIAS(MPI_Aint_diff);
