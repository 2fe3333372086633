// SPDX-License-Identifier: GPL-2.0-only
/* Persistent requests of all modes, some active and some not at each step, null neighbours too. */
#include "mt.h"

#define N 6

int main(int argc, char **argv)
{
	int in[3], out[3], nothing, n;
	MPI_Request request[N];
	MPI_Status status[N];

	mt_begin(&argc, &argv);
	MPI_Recv_init(&in[0], 1, MPI_INT, LEFT, 0, MPI_COMM_WORLD, &request[0]);
	MPI_Recv_init(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request[1]);
	MPI_Send_init(&out[0], 1, MPI_INT, RIGHT, 0, MPI_COMM_WORLD, &request[2]);
	MPI_Ssend_init(&out[1], 1, MPI_INT, RIGHT, 1, MPI_COMM_WORLD, &request[3]);
	MPI_Recv_init(&nothing, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request[4]);
	MPI_Send_init(&nothing, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request[5]);
	for (int round = 0; round < 12; round++) {
		out[0] = mt_rank * 100 + round;
		out[1] = -out[0];
		MPI_Start(&request[0]);
		mt_value(round);
		if (round & 1)
			MPI_Start(&request[1]);
		MPI_Start(&request[2]);
		mt_value(round);
		MPI_Wait(&request[0], &status[0]);
		CHECK(in[0] == LEFT * 100 + round && status[0].MPI_SOURCE == LEFT);
		if (!(round & 1)) {
			MPI_Wait(&request[2], MPI_STATUS_IGNORE);
			/* inactive: empty */
			MPI_Wait(&request[1], &status[1]);
			MPI_Get_count(&status[1], MPI_INT, &n);
			CHECK(n == 0 && status[1].MPI_SOURCE == MPI_ANY_SOURCE);
			continue;
		}
		MPI_Startall(3, &request[3]);
		mt_value(round);
		MPI_Waitall(N, request, status);
		CHECK(in[1] == -LEFT * 100 - round && status[1].MPI_TAG == 1);
	}
	for (int i = 0; i < N; i++)
		MPI_Request_free(&request[i]);
	return mt_end();
}
