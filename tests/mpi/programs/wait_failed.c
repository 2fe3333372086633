// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the calls on arrays tell of requests that failed, persistent ones and two at a time, and
 * of arrays in which none is active. Each receive that fails has room for one number, and two
 * come. (Open MPI frees what has failed, also a persistent request, and with statuses it may
 * return success; what all libraries do is looked at.)
 */
#include <stdbool.h>

#include "mt.h"

#define ROUNDS	4
#define UNSET	0x5a5a5a5a

static MPI_Comm comm;

/* @n messages that are too long have come when this returns. */
static void too_long(int tag, int n)
{
	int out[2] = { mt_rank, 7 };
	MPI_Request last;

	for (int i = 0; i < n; i++)
		MPI_Send(out, 2, MPI_INT, RIGHT, tag + i, comm);
	MPI_Isend(NULL, 0, MPI_INT, RIGHT, 99, comm, &last);
	MPI_Recv(NULL, 0, MPI_INT, LEFT, 99, comm, MPI_STATUS_IGNORE);
	MPI_Wait(&last, MPI_STATUS_IGNORE);
}

/* One persistent receive that fails, and one that never begins. */
static void start(MPI_Request requests[], int in[])
{
	MPI_Recv_init(&in[0], 1, MPI_INT, LEFT, 1, comm, &requests[0]);
	MPI_Recv_init(&in[1], 1, MPI_INT, LEFT, 2, comm, &requests[1]);
	MPI_Start(&requests[0]);
	too_long(1, 1);
}

static void give_back(MPI_Request requests[])
{
	for (int i = 0; i < 2; i++)
		if (requests[i] != MPI_REQUEST_NULL)
			MPI_Request_free(&requests[i]);
}

static void persistent_all(bool ignore)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int in[2], rc;

	start(requests, in);
	statuses[0].MPI_ERROR = UNSET;
	rc = MPI_Waitall(2, requests, ignore ? MPI_STATUSES_IGNORE : statuses);
	CHECK(!ignore || class_of(rc) == MPI_ERR_IN_STATUS);
	CHECK(ignore || class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
	give_back(requests);
}

static void persistent_tested(void)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int in[2], flag = 0, rc = MPI_SUCCESS;

	start(requests, in);
	while (!flag && !rc) {
		statuses[0].MPI_ERROR = UNSET;
		rc = MPI_Testall(2, requests, &flag, statuses);
	}
	CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
	give_back(requests);
}

static void persistent_any(void)
{
	MPI_Request requests[2];
	MPI_Status status;
	int in[2], indx = -1, rc;

	start(requests, in);
	rc = MPI_Waitany(2, requests, &indx, &status);
	CHECK(class_of(rc) == MPI_ERR_TRUNCATE && indx == 0);
	CHECK(status.MPI_SOURCE == LEFT && status.MPI_TAG == 1);
	give_back(requests);
}

/* The one that is told of, and the other: that is gone, or fails when it is waited for. */
static void two(bool tested)
{
	MPI_Request requests[3];
	int in[3] = { 0 }, indx = -1, flag = 0, rc = MPI_SUCCESS;

	for (int i = 0; i < 3; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, LEFT, 10 + i, comm, &requests[i]);
	too_long(10, 2);
	if (!tested)
		rc = MPI_Waitany(3, requests, &indx, MPI_STATUS_IGNORE);
	while (tested && !flag && !rc)
		rc = MPI_Testany(3, requests, &indx, &flag, MPI_STATUS_IGNORE);
	CHECK(class_of(rc) == MPI_ERR_TRUNCATE && indx == 0 && requests[0] == MPI_REQUEST_NULL);
	CHECK(requests[1] == MPI_REQUEST_NULL ||
	      class_of(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
	MPI_Send(&mt_rank, 1, MPI_INT, RIGHT, 12, comm);
	CHECK(MPI_Waitany(3, requests, &indx, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	CHECK(indx == 2 && in[2] == LEFT);
}

static void none_active(void)
{
	MPI_Request requests[2];
	MPI_Status status;
	int in[2], indx = -1, count = -1;

	MPI_Recv_init(&in[0], 1, MPI_INT, LEFT, 20, comm, &requests[0]);
	MPI_Recv_init(&in[1], 1, MPI_INT, LEFT, 21, comm, &requests[1]);
	MPI_Start(&requests[1]);
	MPI_Send(&mt_rank, 1, MPI_INT, RIGHT, 21, comm);
	CHECK(MPI_Waitany(2, requests, &indx, &status) == MPI_SUCCESS && indx == 1);
	CHECK(status.MPI_SOURCE == LEFT && status.MPI_TAG == 21 && in[1] == LEFT);
	CHECK(MPI_Waitany(2, requests, &indx, &status) == MPI_SUCCESS && indx == MPI_UNDEFINED);
	CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 0);
	give_back(requests);
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	/* of an array's failure MPICH asks the handler of MPI_COMM_WORLD */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int round = 0; round < ROUNDS; round++) {
		persistent_all(round & 1);
		persistent_tested();
		persistent_any();
		two(round & 1);
		none_active();
	}
	MPI_Comm_free(&comm);
	return mt_end();
}
