// SPDX-License-Identifier: GPL-2.0-only
/* Waitany, Waitsome, Testany, Testsome, Testall: every request completes once. */
#include "mt.h"

#define N 200	/* more than the glue keeps on the stack */

static int in[N];
static MPI_Request requests[N];

static void post(int tag)
{
	static int out[N];
	MPI_Request request;

	for (int i = 0; i < N; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, LEFT, tag + i, MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < N; i++) {
		out[i] = mt_rank * 1000 + i;
		MPI_Isend(&out[i], 1, MPI_INT, RIGHT, tag + i, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void verify(int completed)
{
	CHECK(completed == N);
	for (int i = 0; i < N; i++) {
		CHECK(requests[i] == MPI_REQUEST_NULL);
		CHECK(in[i] == LEFT * 1000 + i);
		mt_value(in[i]);
	}
}

int main(int argc, char **argv)
{
	int indices[N], index, flag, count, done;
	MPI_Status status, statuses[N];

	mt_begin(&argc, &argv);
	post(0);
	for (done = 0; done < N; done++) {
		MPI_Waitany(N, requests, &index, &status);
		CHECK(index >= 0 && index < N && status.MPI_TAG == index);
	}
	verify(done);
	MPI_Waitany(N, requests, &index, &status);
	CHECK(index == MPI_UNDEFINED);
	post(1000);
	for (done = 0; done < N; done += count) {
		MPI_Waitsome(N, requests, &count, indices, statuses);
		for (int i = 0; i < count; i++)
			CHECK(statuses[i].MPI_TAG == 1000 + indices[i]);
	}
	verify(done);
	post(2000);
	for (done = 0; done < N; done += flag)
		MPI_Testany(N, requests, &index, &flag, &status);
	verify(done);
	post(3000);
	for (done = 0; done < N; done += count)
		MPI_Testsome(N, requests, &count, indices, MPI_STATUSES_IGNORE);
	verify(done);
	MPI_Testsome(N, requests, &count, indices, MPI_STATUSES_IGNORE);
	CHECK(count == MPI_UNDEFINED);
	post(4000);
	do
		MPI_Testall(N, requests, &flag, statuses);
	while (!flag);
	CHECK(statuses[7].MPI_TAG == 4007);
	verify(N);
	return mt_end();
}
