// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program has told the library or was told by it, and asks for again after a cut: names
 * of types, communicators and windows, and how a file was opened. One name becomes another
 * meanwhile, one is taken back.
 */
#include "cut.h"

#define OPENED	(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR)

static void check_type(MPI_Datatype type, const char *want)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length;

	MPI_Type_get_name(type, name, &length);
	CHECK(!strcmp(name, want) && length == (int)strlen(want));
}

static void check_file(MPI_File file)
{
	int amode;

	MPI_File_get_amode(file, &amode);
	CHECK(amode == OPENED);
}

int main(int argc, char **argv)
{
	char path[64], name[MPI_MAX_OBJECT_NAME];
	MPI_Datatype pair, copy, inner, plain;
	MPI_File file;
	MPI_Comm comm;
	MPI_Win win;
	int length;

	mt_begin(&argc, &argv);
	snprintf(path, sizeof(path), "names_kept.%d", mt_rank);
	unlink(path);
	MPI_File_open(MPI_COMM_SELF, path, OPENED, MPI_INFO_NULL, &file);
	MPI_Type_contiguous(2, MPI_INT, &inner);
	MPI_Type_set_name(inner, "inner");
	MPI_Type_vector(2, 1, 3, inner, &pair);
	MPI_Type_free(&inner);
	MPI_Type_dup(pair, &copy);
	MPI_Type_contiguous(3, MPI_INT, &plain);
	MPI_Type_set_name(pair, "pair");
	MPI_Type_set_name(copy, "copy");
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_name(comm, "comm");
	MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win);
	MPI_Win_set_name(win, "win");
	for (int round = 0; round < 3; round++) {
		cut_await_all(1, round);
		check_type(pair, round == 0 ? "pair" : round == 1 ? "another" : "");
		check_type(plain, "");
		check_type(copy, "copy");
		MPI_Comm_get_name(comm, name, &length);
		CHECK(!strcmp(name, "comm"));
		MPI_Win_get_name(win, name, &length);
		CHECK(!strcmp(name, "win"));
		check_file(file);
		MPI_Type_set_name(pair, round ? "" : "another");
	}
	MPI_Win_free(&win);
	MPI_Comm_free(&comm);
	MPI_Type_free(&pair);
	MPI_Type_free(&copy);
	MPI_Type_free(&plain);
	MPI_File_close(&file);
	unlink(path);
	return mt_end();
}
