// SPDX-License-Identifier: GPL-2.0-only
/* Blocking collectives, in place too. */
#include "mt.h"

static int *array(int n)
{
	int *a = malloc((size_t)n * sizeof(*a));

	for (int i = 0; i < n; i++)
		a[i] = mt_rank * 100 + i;
	return a;
}

static void rooted(void)
{
	int *all = array(mt_size), root = mt_size - 1, mine = mt_rank + 1, got = -1, sum = 0;
	int *counts = malloc((size_t)mt_size * sizeof(int)),
	    *at = malloc((size_t)mt_size * sizeof(int));

	for (int i = 0; i < mt_size; i++) {
		counts[i] = 1;
		at[i] = mt_size - 1 - i;
	}
	MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
	if (mt_rank == root)
		CHECK(all[0] == 1 && all[root] == mt_size);
	MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
	CHECK(got == mine);
	MPI_Gatherv(&mine, 1, MPI_INT, all, counts, at, MPI_INT, root, MPI_COMM_WORLD);
	if (mt_rank == root)
		CHECK(all[0] == mt_size);
	MPI_Scatterv(all, counts, at, MPI_INT, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
	CHECK(got == mine);
	MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	if (mt_rank == root)
		CHECK(sum == mt_size * (mt_size + 1) / 2);
	if (mt_rank == root)
		MPI_Reduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
	else
		MPI_Reduce(&mine, NULL, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
	got = mt_rank == 1 ? 99 : 0;
	MPI_Bcast(&got, 1, MPI_INT, 1, MPI_COMM_WORLD);
	CHECK(got == 99);
	free(all);
	free(counts);
	free(at);
}

static void all_to_all(void)
{
	int *out = array(mt_size), *in = array(mt_size);
	int *counts = malloc((size_t)mt_size * sizeof(int)),
	    *at = malloc((size_t)mt_size * sizeof(int));
	int *bytes = malloc((size_t)mt_size * sizeof(int));
	MPI_Datatype *types = malloc((size_t)mt_size * sizeof(*types)), pair;

	MPI_Type_contiguous(1, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	for (int i = 0; i < mt_size; i++) {
		counts[i] = 1;
		at[i] = i;
		bytes[i] = i * (int)sizeof(int);
		types[i] = i & 1 ? pair : MPI_INT;
	}
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	CHECK(in[LEFT] == LEFT * 100 + mt_rank);
	memset(in, 0, (size_t)mt_size * sizeof(int));
	MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_WORLD);
	CHECK(in[LEFT] == LEFT * 100 + mt_rank);
	memset(in, 0, (size_t)mt_size * sizeof(int));
	MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD);
	CHECK(in[RIGHT] == RIGHT * 100 + mt_rank);
	MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, counts, bytes, types, MPI_COMM_WORLD);
	CHECK(out[RIGHT] == RIGHT * 100 + mt_rank);
	in[mt_rank] = mt_rank;
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, MPI_COMM_WORLD);
	CHECK(in[0] == 0 && in[mt_size - 1] == mt_size - 1);
	MPI_Allgatherv(&mt_rank, 1, MPI_INT, in, counts, at, MPI_INT, MPI_COMM_WORLD);
	CHECK(in[RIGHT] == RIGHT);
	MPI_Type_free(&pair);
	free(types);
	free(out);
	free(in);
	free(counts);
	free(at);
	free(bytes);
}

int main(int argc, char **argv)
{
	int one = 1, got = 0, *counts;
	int *ones;
	struct {
		double value;
		int where;
	} place = { -1, 0 }, best;
	double d = mt_rank;

	mt_begin(&argc, &argv);
	rooted();
	all_to_all();
	MPI_Scan(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(got == mt_rank + 1);
	got = 0;
	MPI_Exscan(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(got == mt_rank);
	counts = malloc((size_t)mt_size * sizeof(int));
	ones = malloc((size_t)mt_size * sizeof(int));
	for (int i = 0; i < mt_size; i++)
		counts[i] = ones[i] = 1;
	MPI_Reduce_scatter(ones, &got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(got == mt_size);
	MPI_Reduce_scatter_block(ones, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(got == mt_size);
	place.value = mt_rank == 1 ? 7.5 : mt_rank;
	place.where = mt_rank;
	MPI_Allreduce(&place, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	CHECK(best.value >= 7.5);
	d = mt_rank;
	MPI_Allreduce(MPI_IN_PLACE, &d, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	CHECK(d == mt_size * (mt_size - 1) / 2.0);
	MPI_Barrier(MPI_COMM_WORLD);
	mt_value((long)d + best.where);
	free(counts);
	free(ones);
	return mt_end();
}
