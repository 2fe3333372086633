// SPDX-License-Identifier: GPL-2.0-only
/* Messages of 4 MB under way at a step: their receive posted before, or only after it. */
#include "mt.h"

#define N (1 << 20)

static int right_numbers(const int *in, int first)
{
	for (int i = 0; i < N; i++)
		if (in[i] != first + i)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	int *out = malloc(N * sizeof(int)), *in = malloc(N * sizeof(int));
	MPI_Request send, receive;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < N; i++)
			out[i] = mt_rank * 7 + round + i;
		memset(in, 0, N * sizeof(int));
		if (round & 1)
			MPI_Irecv(in, N, MPI_INT, LEFT, round, MPI_COMM_WORLD, &receive);
		mt_value(round);
		if (round & 2)
			MPI_Issend(out, N, MPI_INT, RIGHT, round, MPI_COMM_WORLD, &send);
		else
			MPI_Isend(out, N, MPI_INT, RIGHT, round, MPI_COMM_WORLD, &send);
		mt_value(out[5]);
		mt_value(round);
		if (!(round & 1))
			MPI_Irecv(in, N, MPI_INT, LEFT, round, MPI_COMM_WORLD, &receive);
		mt_value(out[6]);
		MPI_Wait(&receive, MPI_STATUS_IGNORE);
		CHECK(right_numbers(in, LEFT * 7 + round));
		MPI_Wait(&send, MPI_STATUS_IGNORE);
	}
	free(out);
	free(in);
	return mt_end();
}
