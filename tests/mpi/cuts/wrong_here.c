// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives that one rank alone calls with a wrong argument: the library says so at once, and
 * has begun nothing. That rank then calls as the others do. What failed must not stay counted:
 * it would be ahead for ever, and a checkpoint be taken when the others have begun what it has
 * not, or never.
 */
#include "cut.h"

static void all_right(int round)
{
	int value = mt_rank ? -1 : round, sum, at;
	int send[64], got = -1;
	MPI_Request request;

	for (int i = 0; i < 64; i++)
		send[i] = round + i;
	CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS && value == round);
	cut_compute(round);
	at = round % mt_size;
	CHECK(MPI_Scatter(send, 1, MPI_INT, &got, 1, MPI_INT, at, MPI_COMM_WORLD) == MPI_SUCCESS &&
	      got == round + mt_rank);
	CHECK(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) ==
	      MPI_SUCCESS);
	cut_compute(round + 1);
	CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && sum == round * mt_size);
	mt_value(sum);
}

static int wrong(int round)
{
	int value = 0, sum;
	MPI_Request request;
	MPI_Comm comm;

	switch (round % 4) {
	case 0:
		return MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD);
	case 1:
		return MPI_Reduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, MPI_COMM_WORLD);
	case 2:
		return MPI_Iallreduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD,
				      &request);
	}
	return MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm);
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int round = 0; round < ROUNDS; round++) {
		cut_compute(round);
		if (mt_rank == 0)
			CHECK(wrong(round) != MPI_SUCCESS);
		all_right(round);
	}
	return mt_end();
}
