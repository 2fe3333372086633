// SPDX-License-Identifier: GPL-2.0-only
/* Send modes, blocking and not: every one arrives whole. */
#include "mt.h"

static int buffer[4096];

static void blocking(int mode, int tag)
{
	int out[3] = { mt_rank, mode, tag }, in[3] = { -1, -1, -1 };
	MPI_Request request;
	MPI_Status status;
	int count;

	MPI_Irecv(in, 3, MPI_INT, LEFT, tag, MPI_COMM_WORLD, &request);
	MPI_Barrier(MPI_COMM_WORLD);	/* a ready send needs its receive */
	if (mode == 0)
		MPI_Send(out, 3, MPI_INT, RIGHT, tag, MPI_COMM_WORLD);
	else if (mode == 1)
		MPI_Ssend(out, 3, MPI_INT, RIGHT, tag, MPI_COMM_WORLD);
	else if (mode == 2)
		MPI_Bsend(out, 3, MPI_INT, RIGHT, tag, MPI_COMM_WORLD);
	else
		MPI_Rsend(out, 3, MPI_INT, RIGHT, tag, MPI_COMM_WORLD);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(request == MPI_REQUEST_NULL);
	CHECK(count == 3 && status.MPI_SOURCE == LEFT && status.MPI_TAG == tag);
	CHECK(in[0] == LEFT && in[1] == mode && in[2] == tag);
	mt_value(in[0] * 7 + in[1]);
}

static void nonblocking(int mode, int tag)
{
	double out = mt_rank + 0.25 * mode, in = -1;
	MPI_Request requests[2];

	MPI_Irecv(&in, 1, MPI_DOUBLE, LEFT, tag, MPI_COMM_WORLD, &requests[0]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (mode == 0)
		MPI_Isend(&out, 1, MPI_DOUBLE, RIGHT, tag, MPI_COMM_WORLD, &requests[1]);
	else if (mode == 1)
		MPI_Issend(&out, 1, MPI_DOUBLE, RIGHT, tag, MPI_COMM_WORLD, &requests[1]);
	else if (mode == 2)
		MPI_Ibsend(&out, 1, MPI_DOUBLE, RIGHT, tag, MPI_COMM_WORLD, &requests[1]);
	else
		MPI_Irsend(&out, 1, MPI_DOUBLE, RIGHT, tag, MPI_COMM_WORLD, &requests[1]);
	CHECK(requests[0] != requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
	CHECK(in == LEFT + 0.25 * mode);
}

int main(int argc, char **argv)
{
	int in = -1, out, size;
	void *detached;
	MPI_Status status;

	mt_begin(&argc, &argv);
	MPI_Buffer_attach(buffer, sizeof(buffer));
	for (int mode = 0; mode < 4; mode++) {
		blocking(mode, 10 + mode);
		nonblocking(mode, 20 + mode);
	}
	MPI_Buffer_detach(&detached, &size);
	CHECK(detached == buffer && size == sizeof(buffer));
	out = mt_rank;
	MPI_Sendrecv(&out, 1, MPI_INT, RIGHT, 1, &in, 1, MPI_INT, LEFT, 1, MPI_COMM_WORLD, &status);
	CHECK(in == LEFT && status.MPI_SOURCE == LEFT);
	MPI_Sendrecv_replace(&out, 1, MPI_INT, RIGHT, 2, LEFT, 2, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	CHECK(out == LEFT);
	MPI_Sendrecv(&out, 1, MPI_INT, mt_rank, 3, &in, 1, MPI_INT, mt_rank, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	CHECK(in == LEFT);
	MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
	MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status);
	CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
	return mt_end();
}
