// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error handlers of communicators and files, called before and after; error classes of the
 * program.
 */
#include "mt.h"

static int called, last;

static void on_comm(MPI_Comm *comm, int *code, ...)
{
	called++;
	MPI_Error_class(*code, &last);
}

static void on_file(MPI_File *file, int *code, ...)
{
	called += 100;
	MPI_Error_class(*code, &last);
}

int main(int argc, char **argv)
{
	MPI_Errhandler handler, file_handler, got;
	int x = 0, rc, class, code, length;
	char text[MPI_MAX_ERROR_STRING];
	MPI_File none;
	MPI_Comm comm;

	mt_begin(&argc, &argv);
	MPI_Comm_create_errhandler(on_comm, &handler);
	MPI_File_create_errhandler(on_file, &file_handler);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, handler);
	MPI_File_set_errhandler(MPI_FILE_NULL, file_handler);
	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &code);
	MPI_Add_error_string(code, "of our own");
	for (int round = 0; round < 6; round++) {
		called = 0;
		rc = MPI_Send(&x, 1, MPI_INT, mt_size + 5, 0, comm);
		CHECK(rc != MPI_SUCCESS && called == 1 && last == MPI_ERR_RANK);
		rc = MPI_Send(&x, -1, MPI_INT, 0, 0, comm);
		CHECK(called == 2 && last == MPI_ERR_COUNT);
		mt_value(round);
		MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
		CHECK(called == 3 && last == MPI_ERR_OTHER);
		rc = MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL,
				   &none);
		CHECK(rc != MPI_SUCCESS && called == 103);
		MPI_Comm_get_errhandler(comm, &got);
		CHECK(got == handler);
		MPI_Errhandler_free(&got);
		MPI_Error_string(code, text, &length);
		CHECK(!strcmp(text, "of our own"));
		MPI_Barrier(comm);
	}
	MPI_Errhandler_free(&handler);
	MPI_Errhandler_free(&file_handler);
	MPI_Comm_free(&comm);
	return mt_end();
}
