// SPDX-License-Identifier: GPL-2.0-only
/* Conversions to Fortran integers and back, of predefined, made and null handles. */
#include "mt.h"

#define SAME(kind, type, handle) \
	do { \
		type there = handle; \
		MPI_Fint f = kind##_c2f(there); \
		CHECK(kind##_f2c(f) == there); \
	} while (0)

int main(int argc, char **argv)
{
	MPI_Comm comm;
	MPI_Group group;
	MPI_Datatype type;
	MPI_Request request;
	MPI_Info info;
	MPI_Status status, back;
	MPI_Fint fstatus[16];
	MPI_Op op;
	int in;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_group(comm, &group);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Info_create(&info);
	MPI_Op_create((MPI_User_function *)mt_check, 1, &op);
	MPI_Irecv(&in, 1, MPI_INT, LEFT, 1, comm, &request);
	SAME(MPI_Comm, MPI_Comm, comm);
	SAME(MPI_Comm, MPI_Comm, MPI_COMM_WORLD);
	SAME(MPI_Comm, MPI_Comm, MPI_COMM_SELF);
	SAME(MPI_Comm, MPI_Comm, MPI_COMM_NULL);
	SAME(MPI_Group, MPI_Group, group);
	SAME(MPI_Group, MPI_Group, MPI_GROUP_EMPTY);
	SAME(MPI_Group, MPI_Group, MPI_GROUP_NULL);
	SAME(MPI_Type, MPI_Datatype, type);
	SAME(MPI_Type, MPI_Datatype, MPI_INT);
	SAME(MPI_Type, MPI_Datatype, MPI_DOUBLE_INT);
	SAME(MPI_Type, MPI_Datatype, MPI_DATATYPE_NULL);
	SAME(MPI_Op, MPI_Op, op);
	SAME(MPI_Op, MPI_Op, MPI_SUM);
	SAME(MPI_Op, MPI_Op, MPI_OP_NULL);
	SAME(MPI_Request, MPI_Request, request);
	SAME(MPI_Request, MPI_Request, MPI_REQUEST_NULL);
	SAME(MPI_Info, MPI_Info, info);
	SAME(MPI_Info, MPI_Info, MPI_INFO_NULL);
	SAME(MPI_Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
	SAME(MPI_Errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL);
	SAME(MPI_Win, MPI_Win, MPI_WIN_NULL);
	SAME(MPI_File, MPI_File, MPI_FILE_NULL);
	SAME(MPI_Message, MPI_Message, MPI_MESSAGE_NULL);
	MPI_Send(&mt_rank, 1, MPI_INT, RIGHT, 1, comm);
	MPI_Wait(&request, &status);
	MPI_Status_c2f(&status, fstatus);
	MPI_Status_f2c(fstatus, &back);
	CHECK(back.MPI_SOURCE == LEFT && back.MPI_TAG == 1);
	MPI_Op_free(&op);
	MPI_Info_free(&info);
	MPI_Type_free(&type);
	MPI_Group_free(&group);
	MPI_Comm_free(&comm);
	mt_value(in);
	return mt_end();
}
