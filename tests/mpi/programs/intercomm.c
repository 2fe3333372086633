// SPDX-License-Identifier: GPL-2.0-only
/* Intercommunicators: create, traffic across, merge. */
#include "mt.h"

int main(int argc, char **argv)
{
	MPI_Comm half, inter, merged, dup;
	MPI_Group remote;
	int color, flag, size, rsize, rank, value = -1, sum, grank;

	mt_begin(&argc, &argv);
	color = mt_rank % 2;
	MPI_Comm_split(MPI_COMM_WORLD, color, mt_rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !color, 9, &inter);
	MPI_Comm_test_inter(inter, &flag);
	CHECK(flag);
	MPI_Comm_test_inter(half, &flag);
	CHECK(!flag);
	MPI_Comm_rank(inter, &rank);
	MPI_Comm_size(inter, &size);
	MPI_Comm_remote_size(inter, &rsize);
	CHECK(size + rsize == mt_size);
	MPI_Comm_remote_group(inter, &remote);
	MPI_Group_size(remote, &flag);
	MPI_Group_rank(remote, &grank);
	CHECK(flag == rsize && grank == MPI_UNDEFINED);
	MPI_Group_free(&remote);
	if (rank < rsize) {
		MPI_Sendrecv(&mt_rank, 1, MPI_INT, rank, 1, &value, 1, MPI_INT, rank, 1, inter,
			     MPI_STATUS_IGNORE);
		CHECK(value == (color ? mt_rank - 1 : mt_rank + 1));
	}
	MPI_Allreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, inter);
	mt_value(sum);
	MPI_Comm_dup(inter, &dup);
	value = mt_rank == 0 ? 42 : -1;
	MPI_Bcast(&value, 1, MPI_INT, color ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT, dup);
	CHECK(!color || value == 42);
	MPI_Intercomm_merge(inter, color, &merged);
	MPI_Comm_size(merged, &size);
	MPI_Comm_rank(merged, &rank);
	CHECK(size == mt_size);
	mt_value(rank * 10 + color);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	return mt_end();
}
