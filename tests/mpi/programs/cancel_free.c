// SPDX-License-Identifier: GPL-2.0-only
/* Cancelled receives and freed sends leave nothing behind. */
#include "mt.h"

int main(int argc, char **argv)
{
	int in = -1, out, flag;
	MPI_Request request;
	MPI_Status status;

	mt_begin(&argc, &argv);
	for (int i = 0; i < 100; i++) {
		MPI_Irecv(&in, 1, MPI_INT, LEFT, 77, MPI_COMM_WORLD, &request);
		MPI_Cancel(&request);
		MPI_Wait(&request, &status);
		MPI_Test_cancelled(&status, &flag);
		CHECK(flag && request == MPI_REQUEST_NULL);
	}
	for (int i = 0; i < 100; i++) {
		out = mt_rank + i;
		MPI_Isend(&out, 1, MPI_INT, RIGHT, 78, MPI_COMM_WORLD, &request);
		MPI_Request_free(&request);
		CHECK(request == MPI_REQUEST_NULL);
		MPI_Recv(&in, 1, MPI_INT, LEFT, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(in == LEFT + i);
		MPI_Barrier(MPI_COMM_WORLD);
		mt_value(in);
	}
	MPI_Irecv(&in, 1, MPI_INT, LEFT, 79, MPI_COMM_WORLD, &request);
	MPI_Request_get_status(request, &flag, &status);
	CHECK(!flag && request != MPI_REQUEST_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(&mt_rank, 1, MPI_INT, RIGHT, 79, MPI_COMM_WORLD);
	do
		MPI_Request_get_status(request, &flag, &status);
	while (!flag);
	CHECK(status.MPI_TAG == 79);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(in == LEFT);
	return mt_end();
}
