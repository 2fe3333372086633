// SPDX-License-Identifier: GPL-2.0-only
/* Synchronous and ready sends that wait over several steps for their receive. */
#include "mt.h"

int main(int argc, char **argv)
{
	int out[4], in[4], token = 0;
	MPI_Request send[2], receive;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 4; i++)
			out[i] = mt_rank * 100 + round * 4 + i;
		MPI_Issend(&out[0], 1, MPI_INT, RIGHT, 0, MPI_COMM_WORLD, &send[0]);
		MPI_Issend(&out[1], 1, MPI_INT, RIGHT, 1, MPI_COMM_WORLD, &send[1]);
		mt_value(round);
		MPI_Recv(&in[1], 1, MPI_INT, LEFT, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		mt_value(round);
		MPI_Recv(&in[0], 1, MPI_INT, LEFT, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Waitall(2, send, MPI_STATUSES_IGNORE);
		CHECK(in[0] == LEFT * 100 + round * 4 && in[1] == in[0] + 1);
		/* ready: the receive is posted before the other is told so */
		MPI_Irecv(&in[2], 1, MPI_INT, LEFT, 2, MPI_COMM_WORLD, &receive);
		MPI_Sendrecv(&token, 0, MPI_INT, LEFT, 3, &token, 0, MPI_INT, RIGHT, 3,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		mt_value(round);
		MPI_Rsend(&out[2], 1, MPI_INT, RIGHT, 2, MPI_COMM_WORLD);
		MPI_Wait(&receive, MPI_STATUS_IGNORE);
		CHECK(in[2] == LEFT * 100 + round * 4 + 2);
	}
	return mt_end();
}
