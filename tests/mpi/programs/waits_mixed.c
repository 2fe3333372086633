// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long arrays of requests of several kinds: persistent receives or a barrier among the first
 * 64, plain sends behind them, and the other way round. MPICH looks at 64 requests at a time,
 * and its test of all takes what the last of them are for what all are. Where the barrier is
 * the last one, a checkpoint completes it before the receives.
 */
#include <stdbool.h>
#include <unistd.h>

#include "mt.h"

#define FIRST	64
#define N	94
#define ROUNDS	6

static int in[N], out[N];
static MPI_Request requests[N];

/* @tested: in a loop of tests, not waited for; with statuses where MPICH's own would end the job */
static void all(int n, bool tested)
{
	MPI_Status own[N], *statuses = getenv("LD_PRELOAD") ? MPI_STATUSES_IGNORE : own;
	int flag = 0, rc = MPI_SUCCESS;

	if (!tested) {
		CHECK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
		return;
	}
	while (!flag && !rc)
		rc = MPI_Testall(n, requests, &flag, statuses);
	CHECK(flag && rc == MPI_SUCCESS);
}

static void send_all(int tag, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Send(&out[i], 1, MPI_INT, RIGHT, tag + i, MPI_COMM_WORLD);
}

static void verify(int n, bool persistent)
{
	for (int i = 0; i < n; i++)
		CHECK(in[i] == LEFT * 1000 + i);
	for (int i = 0; i < n; i++)
		CHECK((requests[i] != MPI_REQUEST_NULL) == persistent);
	memset(in, 0, sizeof(in));
}

static void free_all(int n)
{
	for (int i = 0; i < n; i++)
		MPI_Request_free(&requests[i]);
}

static void persistent_first(bool tested)
{
	int more[N];

	for (int i = 0; i < FIRST; i++)
		MPI_Recv_init(&in[i], 1, MPI_INT, LEFT, i, MPI_COMM_WORLD, &requests[i]);
	MPI_Startall(FIRST, requests);
	send_all(0, FIRST);
	for (int i = FIRST; i < N; i++)
		MPI_Isend(&out[i], 1, MPI_INT, RIGHT, 1000 + i, MPI_COMM_WORLD, &requests[i]);
	all(N, tested);
	verify(FIRST, true);
	for (int i = FIRST; i < N; i++) {
		MPI_Recv(&more[i], 1, MPI_INT, LEFT, 1000 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(more[i] == LEFT * 1000 + i && requests[i] == MPI_REQUEST_NULL);
	}
	free_all(FIRST);
}

static void barrier_first(bool tested)
{
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
	for (int i = 1; i < N; i++)
		MPI_Irecv(&in[i - 1], 1, MPI_INT, LEFT, 2000 + i - 1, MPI_COMM_WORLD, &requests[i]);
	send_all(2000, N - 1);
	all(N, tested);
	CHECK(requests[N - 1] == MPI_REQUEST_NULL);
	verify(N - 1, false);
}

/* The receives are under way, and the barrier is over, for some milliseconds. */
static void barrier_last(bool tested)
{
	for (int i = 0; i < FIRST; i++)
		MPI_Recv_init(&in[i], 1, MPI_INT, LEFT, 3000 + i, MPI_COMM_WORLD, &requests[i]);
	MPI_Startall(FIRST, requests);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[FIRST]);
	usleep(15000);
	send_all(3000, FIRST);
	all(FIRST + 1, tested);
	CHECK(requests[FIRST] == MPI_REQUEST_NULL);
	verify(FIRST, true);
	free_all(FIRST);
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	for (int i = 0; i < N; i++)
		out[i] = mt_rank * 1000 + i;
	for (int round = 0; round < ROUNDS; round++) {
		persistent_first(round & 1);
		barrier_first(round & 1);
		barrier_last(round & 1);
	}
	mt_value(ROUNDS);
	return mt_end();
}
