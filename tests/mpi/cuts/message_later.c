// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who is behind in a collective waits for a message that comes after another collective, as in
 * grids of processes with rows and columns: rank 0 is in the broadcast of the even ranks, rank
 * 2 comes to it when rank 1 has sent it something, and that does so after a broadcast of the
 * odd ranks, which nobody has begun. With fewer than four ranks there is nothing of this.
 */
#include "cut.h"

static int broadcast(MPI_Comm side, int value)
{
	int root = mt_rank % 2 == 0, rank;

	MPI_Comm_rank(side, &rank);
	if (rank != root)
		value = -1;
	MPI_Bcast(&value, 1, MPI_INT, root, side);
	return value;
}

static void odd(MPI_Comm side, int round)
{
	int value;

	usleep(2000);
	CHECK(broadcast(side, 100 * round) == 100 * round);
	usleep(1000);
	value = 7 * round;
	if (mt_rank == 1)
		MPI_Send(&value, 1, MPI_INT, 2, 3, MPI_COMM_WORLD);
}

static void even(MPI_Comm side, int round)
{
	int value = 0;

	if (mt_rank == 2) {
		MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(value == 7 * round);
	}
	mt_value(value);
	CHECK(broadcast(side, 11 * round) == 11 * round);
}

int main(int argc, char **argv)
{
	MPI_Comm side;

	mt_begin(&argc, &argv);
	mt_value(mt_size);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, mt_rank, &side);
	for (int round = 0; mt_size > 3 && round < ROUNDS; round++) {
		if (mt_rank % 2)
			odd(side, round);
		else
			even(side, round);
	}
	MPI_Comm_free(&side);
	return mt_end();
}
