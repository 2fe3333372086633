// SPDX-License-Identifier: GPL-2.0-only
/* Error handlers: returned codes, the program's functions with its own handles. */
#include "mt.h"

static MPI_Comm expected;
static int called, code_seen;

static void handler(MPI_Comm *comm, int *code, ...)
{
	called++;
	CHECK(*comm == expected);
	MPI_Error_class(*code, &code_seen);
}

static void file_handler(MPI_File *file, int *code, ...)
{
	called++;
	MPI_Error_class(*code, &code_seen);
}

/*
 * A window without a handler of its own. Open MPI's have one from the beginning: errors are
 * fatal.
 */
static void window(void)
{
#ifdef MPICH_NAME
	MPI_Errhandler back;
	MPI_Win win;
	int cell = 0, class;

	MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Win_get_errhandler(win, &back);
	CHECK(back == MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Error_class(MPI_Put(&cell, 1, MPI_INT, mt_size, 0, 1, MPI_INT, win), &class);
	CHECK(class == MPI_ERR_RANK);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
#endif
}

/*
 * What MPICH looks at or leaves when it fails: one array of types given twice, a handle that
 * was not made.
 */
static void arguments(void)
{
#ifdef MPICH_NAME
	int ints[64] = { 0 }, counts[64], at[64], dims[2] = { mt_size, mt_size },
		periods[2] = { 0 }, class;
	MPI_Datatype types[64];
	MPI_Comm cart;

	for (int i = 0; i < mt_size; i++) {
		counts[i] = 1;
		at[i] = 4 * i;
		types[i] = MPI_INT;
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Error_class(MPI_Alltoallw(ints, counts, at, types, ints, counts, at, types,
				      MPI_COMM_WORLD),
			&class);
	CHECK(class == MPI_ERR_BUFFER);
	CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart) && cart == MPI_COMM_NULL);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	CHECK(!MPI_Alltoallw(MPI_IN_PLACE, counts, at, types, ints, counts, at, types,
			     MPI_COMM_WORLD));
#endif
}

int main(int argc, char **argv)
{
	char text[MPI_MAX_ERROR_STRING], big[64];
	int rc, class, len, in;
	MPI_Errhandler errh, back;
	MPI_Comm comm, sub;
	MPI_File file;
	MPI_Request request;
	MPI_Status status;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_get_errhandler(comm, &back);
	CHECK(back == MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	rc = MPI_Send(&in, 1, MPI_INT, mt_size + 5, 1, comm);
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_RANK);
	MPI_Error_string(rc, text, &len);
	CHECK(len > 0);
	rc = MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, comm);
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_TYPE);
	MPI_Comm_create_errhandler(handler, &errh);
	MPI_Comm_set_errhandler(comm, errh);
	expected = comm;
	rc = MPI_Send(&in, -1, MPI_INT, 0, 1, comm);
	CHECK(called == 1 && code_seen == MPI_ERR_COUNT && rc != MPI_SUCCESS);
	MPI_Comm_split(comm, 0, mt_rank, &sub);
	MPI_Comm_get_errhandler(sub, &back);
	CHECK(back == errh);
	MPI_Errhandler_free(&back);
	MPI_Errhandler_free(&errh);
	CHECK(errh == MPI_ERRHANDLER_NULL);
	expected = sub;
	MPI_Sendrecv(text, 4, MPI_CHAR, mt_rank, 2, big, 64, MPI_CHAR, mt_rank, 2, sub, &status);
	MPI_Comm_call_errhandler(sub, MPI_ERR_OTHER);
	CHECK(called == 2 && code_seen == MPI_ERR_OTHER);
	MPI_Isend(text, 8, MPI_CHAR, RIGHT, 3, sub, &request);
	rc = MPI_Recv(big, 4, MPI_CHAR, LEFT, 3, sub, &status);
	CHECK(called == 3 && code_seen == MPI_ERR_TRUNCATE && rc != MPI_SUCCESS);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	rc = MPI_File_open(MPI_COMM_SELF, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_NO_SUCH_FILE);
	MPI_File_create_errhandler(file_handler, &errh);
	MPI_File_set_errhandler(MPI_FILE_NULL, errh);
	MPI_File_open(MPI_COMM_SELF, "/nonexistent/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
	CHECK(called == 4 && code_seen == MPI_ERR_NO_SUCH_FILE);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
	MPI_Errhandler_free(&errh);
	/* which of them stands in for no window at all is the library's choice */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	rc = MPI_Win_call_errhandler(MPI_WIN_NULL, MPI_ERR_OTHER);
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_WIN);
	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &rc);
	MPI_Add_error_string(rc, "own error");
	MPI_Error_string(rc, text, &len);
	CHECK(!strcmp(text, "own error"));
	MPI_Comm_free(&sub);
	MPI_Comm_free(&comm);
	window();
	arguments();
	mt_value(called);
	return mt_end();
}
