// SPDX-License-Identifier: GPL-2.0-only
/* Wildcards: order of messages from one sender holds, whatever was posted when. */
#include "mt.h"

#define N 12

int main(int argc, char **argv)
{
	int in[N], out, next, source;
	MPI_Request request[N];
	MPI_Status status[N];

	mt_begin(&argc, &argv);
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < N / 2; i++)
			MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
				  &request[i]);
		mt_value(round);
		for (int i = 0; i < N; i++) {
			out = mt_rank * 1000 + round * 20 + i;
			MPI_Send(&out, 1, MPI_INT, RIGHT, (i * 5) % 7, MPI_COMM_WORLD);
		}
		mt_value(round);
		for (int i = N / 2; i < N; i++)
			MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
				  &request[i]);
		MPI_Waitall(N, request, status);
		source = 0;
		next = 0;
		for (int i = 0; i < N; i++) {
			source += status[i].MPI_SOURCE == LEFT;
			next += in[i] == LEFT * 1000 + round * 20 + i &&
				status[i].MPI_TAG == (i * 5) % 7;
		}
		CHECK(source == N);
		CHECK(next == N);
		/* the next round's messages shall not meet these receives */
		MPI_Barrier(MPI_COMM_WORLD);
	}
	return mt_end();
}
