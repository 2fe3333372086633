// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_IN_PLACE in every collective that has it; the type that it makes meaningless may be
 * anything.
 */
#include "mt.h"

int main(int argc, char **argv)
{
	int *v, *counts, *at, x;
	MPI_Request request;
	MPI_Datatype none;

	memset(&none, 0x11, sizeof(none));
	mt_begin(&argc, &argv);
	v = malloc((size_t)mt_size * sizeof(int));
	counts = malloc((size_t)mt_size * sizeof(int));
	at = malloc((size_t)mt_size * sizeof(int));
	for (int i = 0; i < mt_size; i++) {
		counts[i] = 1;
		at[i] = i;
	}
	for (int round = 0; round < 4; round++) {
		x = mt_rank + round;
		MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(x == mt_size * round + mt_size * (mt_size - 1) / 2);
		x = mt_rank + round;
		MPI_Reduce(mt_rank ? &x : MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
		CHECK(mt_rank || x == mt_size - 1 + round);
		x = mt_rank + 1;
		MPI_Scan(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(x == (mt_rank + 1) * (mt_rank + 2) / 2);
		v[mt_rank] = mt_rank * 3 + round;
		MPI_Allgather(MPI_IN_PLACE, 0, none, v, 1, MPI_INT, MPI_COMM_WORLD);
		CHECK(v[LEFT] == LEFT * 3 + round);
		v[mt_rank] = mt_rank * 4 + round;
		MPI_Allgatherv(MPI_IN_PLACE, 0, none, v, counts, at, MPI_INT, MPI_COMM_WORLD);
		CHECK(v[RIGHT] == RIGHT * 4 + round);
		v[mt_rank] = mt_rank + 50;
		MPI_Gather(mt_rank ? &v[mt_rank] : MPI_IN_PLACE, 1, mt_rank ? MPI_INT : none, v, 1,
			   MPI_INT, 0, MPI_COMM_WORLD);
		CHECK(mt_rank || v[mt_size - 1] == mt_size + 49);
		MPI_Scatter(v, 1, MPI_INT, mt_rank ? &x : MPI_IN_PLACE, 1, mt_rank ? MPI_INT : none,
			    0, MPI_COMM_WORLD);
		CHECK(!mt_rank || x == mt_rank + 50);
		for (int i = 0; i < mt_size; i++)
			v[i] = mt_rank * 100 + i;
		MPI_Alltoall(MPI_IN_PLACE, 0, none, v, 1, MPI_INT, MPI_COMM_WORLD);
		CHECK(v[LEFT] == LEFT * 100 + mt_rank);
		for (int i = 0; i < mt_size; i++)
			v[i] = mt_rank * 70 + i;
		MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, none, v, counts, at, MPI_INT,
			       MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(v[RIGHT] == RIGHT * 70 + mt_rank);
		for (int i = 0; i < mt_size; i++)
			v[i] = mt_rank + i;
		MPI_Reduce_scatter_block(MPI_IN_PLACE, v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(v[0] == mt_size * (mt_size - 1) / 2 + mt_size * mt_rank);
		x = mt_rank + round;
		MPI_Iallreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
		mt_value(round);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(x == round);
	}
	free(v);
	free(counts);
	free(at);
	return mt_end();
}
