// SPDX-License-Identifier: GPL-2.0-only
/* Non-blocking collectives, several under way at once on two communicators. */
#include "mt.h"

int main(int argc, char **argv)
{
	int sum[3], in[3], bcast, scan = -1, ex = 0, *all, *wide, *got, flag, n;
	int *counts, *bytes;
	MPI_Datatype *types;
	MPI_Request requests[12];
	MPI_Comm dup;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	all = malloc((size_t)mt_size * sizeof(int));
	wide = malloc((size_t)mt_size * sizeof(int));
	got = malloc((size_t)mt_size * sizeof(int));
	counts = malloc((size_t)mt_size * sizeof(int));
	bytes = malloc((size_t)mt_size * sizeof(int));
	types = malloc((size_t)mt_size * sizeof(*types));
	for (int i = 0; i < mt_size; i++) {
		wide[i] = mt_rank * 100 + i;
		counts[i] = 1;
		bytes[i] = i * (int)sizeof(int);
		MPI_Type_contiguous(1, MPI_INT, &types[i]);
		MPI_Type_commit(&types[i]);
	}
	for (int round = 0; round < 20; round++) {
		n = 0;
		bcast = mt_rank == round % mt_size ? round : -1;
		for (int i = 0; i < 3; i++)
			in[i] = mt_rank + i + round;
		MPI_Ibarrier(dup, &requests[n++]);
		MPI_Iallreduce(&in[0], &sum[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &requests[n++]);
		MPI_Iallreduce(&in[1], &sum[1], 1, MPI_INT, MPI_MAX, dup, &requests[n++]);
		MPI_Ireduce(&in[2], &sum[2], 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD,
			    &requests[n++]);
		MPI_Ibcast(&bcast, 1, MPI_INT, round % mt_size, dup, &requests[n++]);
		MPI_Iallgather(&mt_rank, 1, MPI_INT, all, 1, MPI_INT, dup, &requests[n++]);
		MPI_Iscan(&mt_rank, &scan, 1, MPI_INT, MPI_SUM, dup, &requests[n++]);
		MPI_Iexscan(&mt_rank, &ex, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
		MPI_Ialltoallw(wide, counts, bytes, types, got, counts, bytes, types,
			       MPI_COMM_WORLD, &requests[n++]);
		if (round & 1)
			MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		else
			do
				MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
			while (!flag);
		CHECK(sum[0] == mt_size * (mt_size - 1) / 2 + mt_size * round);
		CHECK(sum[1] == mt_size + round);
		CHECK(mt_rank || sum[2] == 2 + round);
		CHECK(bcast == round && all[RIGHT] == RIGHT);
		CHECK(scan == mt_rank * (mt_rank + 1) / 2 && ex == mt_rank * (mt_rank - 1) / 2);
		CHECK(got[LEFT] == LEFT * 100 + mt_rank);
		mt_value(sum[0] + scan);
	}
	for (int i = 0; i < mt_size; i++)
		MPI_Type_free(&types[i]);
	MPI_Comm_free(&dup);
	free(all);
	free(wide);
	free(got);
	free(counts);
	free(bytes);
	free(types);
	return mt_end();
}
