// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a library answers with the same object each time, or with a copy: groups of
 * communicators, types of views.
 */
#include "mt.h"

#define ROUNDS	30

static void same_group(MPI_Comm comm)
{
	MPI_Group first, again, other;
	int n, result;

	MPI_Comm_group(comm, &first);
	MPI_Comm_group(comm, &again);
	CHECK(first == again);
	MPI_Group_free(&again);
	CHECK(again == MPI_GROUP_NULL);
	MPI_Group_size(first, &n);
	CHECK(n == mt_size);
	MPI_Comm_group(MPI_COMM_WORLD, &other);
	MPI_Group_compare(first, other, &result);
	CHECK(result == MPI_IDENT);
	MPI_Group_free(&other);
	MPI_Group_free(&first);
}

/* Groups that are not freed outlive the communicator; a new one in its place has its own. */
static void outlives(MPI_Group *kept)
{
	MPI_Comm comm;
	MPI_Group half;
	int n, one;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_group(comm, kept);
	same_group(comm);
	MPI_Comm_free(&comm);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank, 0, &comm);
	MPI_Comm_group(comm, &half);
	MPI_Group_size(half, &one);
	MPI_Group_size(*kept, &n);
	CHECK(n == mt_size && one == 1);
	MPI_Group_free(&half);
	MPI_Comm_free(&comm);
}

static void view(MPI_File file, MPI_Datatype *etype, MPI_Datatype *filetype)
{
	char datarep[MPI_MAX_DATAREP_STRING];
	MPI_Offset disp = -1;

	MPI_File_get_view(file, &disp, etype, filetype, datarep);
	CHECK(disp == 8 && !strcmp(datarep, "native"));
}

static void check_view(MPI_Datatype etype, MPI_Datatype filetype)
{
	MPI_Aint lb, extent;
	int size;

	MPI_Type_size(etype, &size);
	CHECK(size == 2 * (int)sizeof(int));
	MPI_Type_size(filetype, &size);
	MPI_Type_get_extent(filetype, &lb, &extent);
	CHECK(size == 4 * (int)sizeof(int) && lb == 0 && extent == 8 * (int)sizeof(int));
}

static void open_with_view(MPI_File *file, const char *path)
{
	MPI_Datatype pair, two, spread;

	MPI_File_open(MPI_COMM_SELF, path,
		      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		      file);
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_vector(2, 1, 2, pair, &two);
	MPI_Type_create_resized(two, 0, 8 * (MPI_Aint)sizeof(int), &spread);
	MPI_Type_commit(&pair);
	MPI_Type_commit(&spread);
	MPI_File_set_view(*file, 8, pair, spread, "native", MPI_INFO_NULL);
	MPI_Type_free(&pair);
	MPI_Type_free(&two);
	MPI_Type_free(&spread);
}

int main(int argc, char **argv)
{
	MPI_Datatype etype, filetype, e, f;
	char path[64];
	MPI_Group world, kept;
	MPI_File file;

	mt_begin(&argc, &argv);
	snprintf(path, sizeof(path), "asked_again.%d", mt_rank);
	open_with_view(&file, path);
	view(file, &etype, &filetype);
	outlives(&kept);
	for (int round = 0; round < ROUNDS; round++) {
		/* never freed */
		MPI_Comm_group(MPI_COMM_WORLD, &world);
		same_group(MPI_COMM_WORLD);
		view(file, &e, &f);
		check_view(e, f);
		check_view(etype, filetype);
		MPI_Type_free(&e);
		MPI_Type_free(&f);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Type_free(&etype);
	MPI_Type_free(&filetype);
	MPI_Group_free(&kept);
	MPI_File_close(&file);
	return mt_end();
}
