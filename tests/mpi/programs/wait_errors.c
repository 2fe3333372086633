// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of requests of which one fails: the others complete, then or later, with their own
 * codes. Whether a library tells of the failure before or after the others have come is its own
 * affair. (Open MPI leaves a request that failed in the array, and does not wait for the
 * others.)
 */
#include <stdbool.h>
#include <unistd.h>

#include "mt.h"

#define ROUNDS	8
#define UNSET	0x5a5a5a5a

static MPI_Comm comm;

static void unset(MPI_Status statuses[], int n)
{
	for (int i = 0; i < n; i++)
		statuses[i].MPI_ERROR = UNSET;
}

/* All succeed. */
static void fine(int round)
{
	MPI_Request requests[3] = { MPI_REQUEST_NULL };
	MPI_Status statuses[3];
	int out = round, in = -1;

	MPI_Irecv(&in, 1, MPI_INT, LEFT, 1, comm, &requests[1]);
	MPI_Isend(&out, 1, MPI_INT, RIGHT, 1, comm, &requests[2]);
	step();
	unset(statuses, 3);
	CHECK(MPI_Waitall(3, requests, statuses) == MPI_SUCCESS);
	CHECK(in == round && statuses[1].MPI_SOURCE == LEFT);
	for (int i = 1; i < 3; i++)
		CHECK(statuses[i].MPI_ERROR == MPI_SUCCESS && requests[i] == MPI_REQUEST_NULL);
}

/* Two numbers where one fits; what the other receive waits for follows later. */
static void send_late(void)
{
	int out[2] = { mt_rank, 7 };

	MPI_Send(out, 2, MPI_INT, RIGHT, 2, comm);
	usleep(3000);
	MPI_Send(out, 1, MPI_INT, RIGHT, 4, comm);
}

static void post(MPI_Request requests[], int in[], bool persistent)
{
	if (!persistent) {
		MPI_Irecv(&in[0], 1, MPI_INT, LEFT, 2, comm, &requests[0]);
		MPI_Irecv(&in[1], 1, MPI_INT, LEFT, 4, comm, &requests[1]);
		return;
	}
	MPI_Recv_init(&in[0], 1, MPI_INT, LEFT, 2, comm, &requests[0]);
	MPI_Recv_init(&in[1], 1, MPI_INT, LEFT, 4, comm, &requests[1]);
	MPI_Startall(2, requests);
}

/* What was left under way comes, and persistent ones can begin anew. */
static void complete(MPI_Request requests[], const int in[], bool persistent)
{
	MPI_Status status;

	for (int i = 0; i < 2; i++) {
		MPI_Wait(&requests[i], &status);
		CHECK((requests[i] == MPI_REQUEST_NULL) == !persistent);
	}
	CHECK(in[1] == LEFT);
	if (!persistent)
		return;
	MPI_Startall(2, requests);
	for (int i = 0; i < 2; i++)
		MPI_Send(&mt_rank, 1, MPI_INT, RIGHT, i ? 4 : 2, comm);
	CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
	CHECK(in[0] == LEFT && in[1] == LEFT);
	for (int i = 0; i < 2; i++)
		MPI_Request_free(&requests[i]);
}

static void waited_for(bool persistent, bool ignore)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int in[2] = { -1, -1 }, rc;
	bool pending;

	unset(statuses, 2);
	post(requests, in, persistent);
	send_late();
	step();
	rc = MPI_Waitall(2, requests, ignore ? MPI_STATUSES_IGNORE : statuses);
	CHECK(rc != MPI_SUCCESS);
	CHECK(ignore || class_of(rc) == MPI_ERR_IN_STATUS);
	CHECK(ignore || class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
	pending = statuses[1].MPI_ERROR == MPI_ERR_PENDING;
	CHECK(ignore || pending || (statuses[1].MPI_ERROR == MPI_SUCCESS && in[1] == LEFT));
	complete(requests, in, persistent);
}

/* The second is sent only when the failure has been told of, or was not for a while. */
static void tested(bool persistent, bool ignore)
{
	MPI_Request requests[2], sending;
	MPI_Status statuses[2];
	int in[2] = { -1, -1 }, out[2] = { mt_rank, 7 }, flag = 0, rc = 0;
	bool told;

	post(requests, in, persistent);
	MPI_Isend(out, 2, MPI_INT, RIGHT, 2, comm, &sending);
	for (int i = 0; i < 300 && !rc && !flag; i++) {
		usleep(100);
		unset(statuses, 2);
		rc = MPI_Testall(2, requests, &flag, ignore ? MPI_STATUSES_IGNORE : statuses);
	}
	CHECK(!flag);
	told = rc && !ignore;
	CHECK(!told || class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
	CHECK(!told || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
	CHECK(requests[1] != MPI_REQUEST_NULL);
	MPI_Wait(&sending, MPI_STATUS_IGNORE);
	step();
	MPI_Barrier(comm);
	MPI_Send(out, 1, MPI_INT, RIGHT, 4, comm);
	complete(requests, in, persistent);
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	/* of an array's failure MPICH asks the handler of MPI_COMM_WORLD */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int round = 0; round < ROUNDS; round++) {
		fine(round);
#ifndef OPEN_MPI
		waited_for(round & 1, round & 2);
		tested(round & 1, round & 2);
#endif
	}
	MPI_Comm_free(&comm);
	return mt_end();
}
