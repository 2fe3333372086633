// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that MPI 4 has brought, persistent collectives and partitioned communication, in
 * arrays: waited for together, some of them only, with others among them. A library without them
 * has nothing to do.
 */
#include "mt.h"

#if MPI_VERSION >= 4
static void collectives(void)
{
	MPI_Request requests[3];
	MPI_Status statuses[3];
	int got = -1, one = mt_rank, sum = -1;

	MPI_Bcast_init(&got, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
	for (int round = 0; round < 3; round++) {
		got = mt_rank ? -1 : 42 + round;
		MPI_Startall(2, requests);
		MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
		for (int i = 0; i < 3; i++)
			statuses[i].MPI_ERROR = MPI_ERR_OTHER;
		CHECK(!MPI_Waitall(3, requests, round ? statuses : MPI_STATUSES_IGNORE));
		CHECK(got == 42 + round && sum == mt_size * (mt_size - 1) / 2);
		CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
		CHECK(requests[2] == MPI_REQUEST_NULL);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	mt_value(got + sum);
}

static void partitioned(void)
{
	int to = (mt_rank + 1) % mt_size, from = (mt_rank + mt_size - 1) % mt_size, out, in = -1;
	MPI_Request requests[2];

	MPI_Psend_init(&out, 1, 1, MPI_INT, to, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	MPI_Precv_init(&in, 1, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
	for (int round = 0; round < 3; round++) {
		MPI_Startall(2, requests);
		out = mt_rank + round;
		MPI_Pready(0, requests[0]);
		CHECK(!MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
		CHECK(in == from + round);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	mt_value(in);
}
#endif

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
#if MPI_VERSION >= 4
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	collectives();
	partitioned();
#endif
	return mt_end();
}
