// SPDX-License-Identifier: GPL-2.0-only
/* Neighbourhood collectives, blocking and not, on a cartesian grid kept for many rounds. */
#include "mt.h"

int main(int argc, char **argv)
{
	int dims[2] = { 0, 1 }, periods[2] = { 1, 1 }, out[4], in[4], ones[4] = { 1, 1, 1, 1 };
	int at[4] = { 0, 1, 2, 3 }, from, to;
	MPI_Aint bytes[4] = { 0, 4, 8, 12 };
	MPI_Datatype ints[4] = { MPI_INT, MPI_INT, MPI_INT, MPI_INT };
	MPI_Request request;
	MPI_Comm grid;

	mt_begin(&argc, &argv);
	MPI_Dims_create(mt_size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Cart_shift(grid, 0, 1, &from, &to);
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 4; i++)
			out[i] = 1000 * mt_rank + 10 * round + (i > 1 ? i : 0);
		memset(in, 0xff, sizeof(in));
		switch (round % 5) {
		case 0:
			MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
			break;
		case 1:
			MPI_Neighbor_alltoallv(out, ones, at, MPI_INT, in, ones, at, MPI_INT, grid);
			break;
		case 2:
			MPI_Neighbor_alltoallw(out, ones, bytes, ints, in, ones, bytes, ints, grid);
			break;
		case 3:
			MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid, &request);
			mt_value(round);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			break;
		default:
			MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, grid);
		}
		CHECK(in[0] == 1000 * from + 10 * round && in[1] == 1000 * to + 10 * round);
		CHECK(in[2] / 1000 == mt_rank && in[3] / 1000 == mt_rank);
		mt_value(in[0] + in[1]);
	}
	MPI_Comm_free(&grid);
	return mt_end();
}
