// SPDX-License-Identifier: GPL-2.0-only
/*
 * A message that a checkpoint kept is received while a communicator is being made
 * (MPI_Comm_idup) that the others come to only when they have the answer to it. To deliver it
 * may need nobody else.
 */
#include "cut.h"

enum { DATA = 1, ANSWER };

static void first(int turn, MPI_Comm *comm, MPI_Request *request)
{
	int in = -1, flag;

	cut_await(2, turn);
	MPI_Comm_idup(MPI_COMM_WORLD, comm, request);
	/* so that the library has begun it */
	for (int i = 0; i < 10; i++) {
		MPI_Test(request, &flag, MPI_STATUS_IGNORE);
		CHECK(!flag);
	}
	for (int from = 1; from < mt_size; from++) {
		MPI_Recv(&in, 1, MPI_INT, from, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(in == from + turn);
	}
	for (int to = 1; to < mt_size; to++)
		MPI_Send(&turn, 1, MPI_INT, to, ANSWER, MPI_COMM_WORLD);
}

static void other(int turn, MPI_Comm *comm, MPI_Request *request)
{
	int out = mt_rank + turn, in = -1;

	MPI_Send(&out, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
	MPI_Recv(&in, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(in == turn);
	MPI_Comm_idup(MPI_COMM_WORLD, comm, request);
}

int main(int argc, char **argv)
{
	MPI_Request request;
	MPI_Comm comm;
	int sum;

	mt_begin(&argc, &argv);
	for (int turn = 0; turn < 3; turn++) {
		if (mt_rank)
			other(turn, &comm, &request);
		else
			first(turn, &comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, comm);
		CHECK(sum == turn * mt_size);
		MPI_Comm_free(&comm);
	}
	mt_value(3);
	return mt_end();
}
