// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends that were cancelled, so that nobody receives them, and freed at once or waited for
 * after a checkpoint: it comes none the less. MPICH cancels those of MPI_COMM_SELF; of Open
 * MPI's none is ever cancelled, so they are received there.
 */
#include "cut.h"

static void receive_one(void)
{
#ifndef MPICH_NAME
	int in = -1;

	MPI_Recv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	CHECK(in == 1);
#endif
}

static void waited_for(int round)
{
	int out = 1;
	MPI_Request request;

	MPI_Issend(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
	MPI_Cancel(&request);
	cut_await_all(1, round);
	receive_one();
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
	int rounds = ROUNDS < 4 ? ROUNDS : 4, out = 1, in = -1;
	MPI_Request request;

	mt_begin(&argc, &argv);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 3; i++) {
			MPI_Issend(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
			MPI_Cancel(&request);
			MPI_Request_free(&request);
			CHECK(request == MPI_REQUEST_NULL);
			receive_one();
		}
		waited_for(round);
		cut_await_all(2, round);
		MPI_Sendrecv(&round, 1, MPI_INT, RIGHT, 8, &in, 1, MPI_INT, LEFT, 8, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		CHECK(in == round);
		mt_value(in);
	}
	return mt_end();
}
