// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of 4 MB under way, each rank's to the next, while one rank is outside MPI until
 * there was a cut: what it sends and receives is drained by its glue thread.
 */
#include "cut.h"

#define N (1 << 20)

int main(int argc, char **argv)
{
	int rounds = ROUNDS < 12 ? ROUNDS : 12, *out = malloc(N * sizeof(int)),
	    *in = malloc(N * sizeof(int));
	MPI_Request send, receive;

	mt_begin(&argc, &argv);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < N; i++)
			out[i] = mt_rank * 7 + round + i;
		memset(in, 0, N * sizeof(int));
		if (round & 1)
			MPI_Irecv(in, N, MPI_INT, LEFT, round, MPI_COMM_WORLD, &receive);
		if (round & 2)
			MPI_Issend(out, N, MPI_INT, RIGHT, round, MPI_COMM_WORLD, &send);
		else
			MPI_Isend(out, N, MPI_INT, RIGHT, round, MPI_COMM_WORLD, &send);
		/* not in the end: the others would be in a collective then, and there is no cut */
		if (mt_rank == round % mt_size && round < rounds - 2)
			cut_await(1, round);
		if (!(round & 1))
			MPI_Irecv(in, N, MPI_INT, LEFT, round, MPI_COMM_WORLD, &receive);
		MPI_Wait(&receive, MPI_STATUS_IGNORE);
		for (int i = 0; i < N; i += 1000)
			CHECK(in[i] == LEFT * 7 + round + i);
		MPI_Wait(&send, MPI_STATUS_IGNORE);
	}
	free(out);
	free(in);
	mt_value(rounds);
	return mt_end();
}
