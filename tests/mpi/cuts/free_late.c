// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communicators that one member frees only after the job was cut twice, when all others have
 * freed them long ago: with a topology, between two groups, with a receive posted before, and
 * with a file that is closed before or after.
 */
#include "cut.h"

#define MESSAGE	3
#define TOKEN	4

static MPI_Comm make(int round)
{
	int dims[1] = { mt_size }, periods[1] = { 1 };
	MPI_Comm comm, half;

	if (round % 3 == 0) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	} else if (round % 3 == 1) {
		MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
	} else {
		MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, mt_rank, &half);
		MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mt_rank % 2, round, &comm);
		MPI_Comm_free(&half);
	}
	return comm;
}

/* Rank @late in @comm, of those it can send to; its message goes to the next one of them. */
static int is_next(int late, int *ret_from, int *ret_to, int inter)
{
	int next = (late + 1) % mt_size;

	*ret_from = inter ? late / 2 : late;
	*ret_to = inter ? next / 2 : next;
	/* the next one is in the other group, but of an odd number the last one's */
	if (inter && late % 2 == next % 2)
		return 0;
	return mt_rank == next ? 1 : mt_rank == late ? -1 : 0;
}

static void one(int round)
{
	int late = round % mt_size, token = round, got = -1, from, to, next;
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Comm comm = make(round);
	MPI_File file;

	next = is_next(late, &from, &to, round % 3 == 2);
	if (round % 3 == 0)
		MPI_File_open(comm, "cut_free", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			      &file);
	if (mt_rank != late) {
		if (next == 1)
			MPI_Irecv(&got, 1, MPI_INT, from, MESSAGE, comm, &request);
		MPI_Comm_free(&comm);
	}
	/* who is late closes before it frees */
	if (round % 6 == 0)
		MPI_File_close(&file);
	if (mt_rank == late) {
		cut_await(2, round);
		if (next == -1)
			MPI_Send(&token, 1, MPI_INT, to, MESSAGE, comm);
		MPI_Comm_free(&comm);
		for (int i = 0; i < mt_size; i++)
			if (i != late)
				MPI_Send(&token, 1, MPI_INT, i, TOKEN, MPI_COMM_WORLD);
		got = token;
	} else {
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(next != 1 || got == round);
		MPI_Recv(&got, 1, MPI_INT, late, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	CHECK(comm == MPI_COMM_NULL && got == round);
	if (round % 6 == 3) {
		CHECK(!MPI_File_write_at_all(file, mt_rank * 4, &round, 1, MPI_INT,
					     MPI_STATUS_IGNORE));
		MPI_File_close(&file);
	}
	mt_value(got);
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	for (int round = 0; round < ROUNDS; round++) {
		one(round);
		cut_compute(round);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!mt_rank)
		MPI_File_delete("cut_free", MPI_INFO_NULL);
	return mt_end();
}
