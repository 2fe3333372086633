// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests over a checkpoint: persistent, active and not; posted receives, also from anybody, one
 * cancelled and one freed; large messages under way; blocking calls that wait.
 */
#include "cut.h"

#define N	8
#define LARGE	300000

static void large(int round)
{
	static int out[LARGE], in[LARGE];
	MPI_Request request;

	for (int i = 0; i < LARGE; i += 1000)
		out[i] = round + i + mt_rank;
	MPI_Isend(out, LARGE, MPI_INT, RIGHT, 30, MPI_COMM_WORLD, &request);
	cut_compute(round);
	if (mt_rank % 2)
		cut_compute(round + 3);
	MPI_Recv(in, LARGE, MPI_INT, LEFT, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(in[5000] == round + 5000 + LEFT);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Sendrecv(out, LARGE, MPI_INT, LEFT, 31, in, LARGE, MPI_INT, RIGHT, 31, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	CHECK(in[7000] == round + 7000 + RIGHT);
	MPI_Sendrecv_replace(in, LARGE, MPI_INT, LEFT, 32, RIGHT, 32, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	CHECK(in[7000] == round + 7000 + (RIGHT + 1) % mt_size);
}

static void cancelled(int round)
{
	int never, flag;
	MPI_Request request;
	MPI_Status status;

	MPI_Irecv(&never, 1, MPI_INT, LEFT, 99, MPI_COMM_WORLD, &request);
	cut_compute(round);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag);
}

static void freed(int round)
{
	static int got[ROUNDS_MAX];
	MPI_Request request;
	int value = round * 3;

	MPI_Irecv(&got[round], 1, MPI_INT, LEFT, 40, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	MPI_Ssend(&value, 1, MPI_INT, RIGHT, 40, MPI_COMM_WORLD);
	if (round)
		CHECK(got[round - 1] == (round - 1) * 3);
}

int main(int argc, char **argv)
{
	MPI_Request request[4], any;
	int out[2][N], in[2][N], from_any, index, n, indices[4], value;
	MPI_Status status, statuses[4];

	mt_begin(&argc, &argv);
	for (int k = 0; k < 2; k++) {
		MPI_Send_init(out[k], N, MPI_INT, RIGHT, k, MPI_COMM_WORLD, &request[k]);
		MPI_Recv_init(in[k], N, MPI_INT, k ? MPI_ANY_SOURCE : LEFT, k, MPI_COMM_WORLD,
			      &request[2 + k]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++)
			out[0][i] = out[1][i] = round * N + i + mt_rank;
		MPI_Irecv(&from_any, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &any);
		cut_compute(round);
		MPI_Startall(2, request);
		if (round % 2)
			cut_compute(round + 1);
		MPI_Startall(2, request + 2);
		cut_compute(round + 2);
		MPI_Waitany(2, request + 2, &index, &status);
		CHECK(index == 0 || index == 1);
		CHECK(in[index][3] == round * N + 3 + LEFT && status.MPI_SOURCE == LEFT);
		cut_compute(round + 1);
		for (int left = 3; left > 0; left -= n) {
			MPI_Waitsome(4, request, &n, indices, statuses);
			if (n <= 0 || n > left)
				break;
		}
		CHECK(in[0][5] == in[1][5] && in[0][5] == round * N + 5 + LEFT);
		value = round + mt_rank;
		MPI_Send(&value, 1, MPI_INT, RIGHT, 7, MPI_COMM_WORLD);
		MPI_Wait(&any, &status);
		CHECK(from_any == round + LEFT && status.MPI_SOURCE == LEFT);
		if (!(round % 4))
			large(round);
		cancelled(round);
		freed(round);
		MPI_Barrier(MPI_COMM_WORLD);
		mt_value(in[0][2]);
	}
	for (int k = 0; k < 4; k++)
		MPI_Request_free(&request[k]);
	return mt_end();
}
