// SPDX-License-Identifier: GPL-2.0-only
/* Receives posted long before they are cancelled, or met by a message after all. */
#include "mt.h"

int main(int argc, char **argv)
{
	int in[3], out, flag;
	MPI_Request never, met, persistent;
	MPI_Status status;

	mt_begin(&argc, &argv);
	MPI_Recv_init(&in[2], 1, MPI_INT, LEFT, 9, MPI_COMM_WORLD, &persistent);
	for (int round = 0; round < 10; round++) {
		MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 1000 + round, MPI_COMM_WORLD, &never);
		MPI_Irecv(&in[1], 1, MPI_INT, LEFT, round, MPI_COMM_WORLD, &met);
		MPI_Start(&persistent);
		mt_value(round);
		MPI_Test(&never, &flag, MPI_STATUS_IGNORE);
		CHECK(!flag);
		MPI_Cancel(&never);
		mt_value(round);
		MPI_Wait(&never, &status);
		MPI_Test_cancelled(&status, &flag);
		CHECK(flag && never == MPI_REQUEST_NULL);
		MPI_Cancel(&persistent);
		MPI_Wait(&persistent, &status);
		MPI_Test_cancelled(&status, &flag);
		CHECK(flag && persistent != MPI_REQUEST_NULL);
		out = mt_rank * 10 + round;
		MPI_Send(&out, 1, MPI_INT, RIGHT, round, MPI_COMM_WORLD);
		MPI_Wait(&met, &status);
		MPI_Test_cancelled(&status, &flag);
		CHECK(!flag && in[1] == LEFT * 10 + round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Request_free(&persistent);
	return mt_end();
}
