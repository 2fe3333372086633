// SPDX-License-Identifier: GPL-2.0-only
/* Generalised requests: query, free and cancel run in the program. */
#include "mt.h"

static __thread int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status)
{
	queried++;
	MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
	MPI_Status_set_cancelled(status, cancelled);
	status->MPI_SOURCE = 3;
	status->MPI_TAG = 4;
	return MPI_SUCCESS;
}

static int release(void *extra)
{
	freed++;
	return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
	cancelled += !complete;
	return MPI_SUCCESS;
}

/* Not complete, complete, and told: a restart may be after each. */
static void ended(int *extra)
{
	int n, flag, before = freed;
	MPI_Request request;
	MPI_Status status;

	queried = 0;
	MPI_Grequest_start(query, release, cancel, extra, &request);
	step();
	MPI_Test(&request, &flag, &status);
	CHECK(!flag && request != MPI_REQUEST_NULL && !queried);
	MPI_Grequest_complete(request);
	step();
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &n);
	CHECK(n == *extra && status.MPI_TAG == 4 && request == MPI_REQUEST_NULL);
	CHECK(queried == 1 && freed == before + 1);
	step();
}

/* Among others in an array, of which one is a receive that is posted over the restart. */
static void among_others(int *extra)
{
	int in = -1, before = freed;
	MPI_Request requests[3];

	MPI_Irecv(&in, 1, MPI_INT, LEFT, 6, MPI_COMM_WORLD, &requests[0]);
	MPI_Grequest_start(query, release, cancel, extra, &requests[1]);
	MPI_Grequest_start(query, release, cancel, extra, &requests[2]);
	MPI_Grequest_complete(requests[2]);
	step();
	MPI_Send(&mt_rank, 1, MPI_INT, RIGHT, 6, MPI_COMM_WORLD);
	MPI_Grequest_complete(requests[1]);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	CHECK(in == LEFT && freed == before + 2);
}

static void was_cancelled(int *extra)
{
	int flag, before = freed;
	MPI_Request request;
	MPI_Status status;

	cancelled = 0;
	MPI_Grequest_start(query, release, cancel, extra, &request);
	MPI_Cancel(&request);
	CHECK(cancelled == 1);
	step();
	MPI_Grequest_complete(request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag && freed == before + 1);
	cancelled = 0;
}

/* Freed when it is complete, and before: the program has the handle still, to complete it. */
static void freed_itself(int *extra)
{
	MPI_Request request, same;
	int before = freed;

	MPI_Grequest_start(query, release, cancel, extra, &request);
	MPI_Grequest_complete(request);
	step();
	MPI_Request_free(&request);
	CHECK(request == MPI_REQUEST_NULL && freed == ++before);

	MPI_Grequest_start(query, release, cancel, extra, &request);
	same = request;
	MPI_Request_free(&request);
	CHECK(request == MPI_REQUEST_NULL);
	step();
	MPI_Grequest_complete(same);
	CHECK(freed == before + 1);
}

int main(int argc, char **argv)
{
	int extra = 5;

	mt_begin(&argc, &argv);
	for (int i = 0; i < 300; i++) {
		ended(&extra);
		among_others(&extra);
		was_cancelled(&extra);
		freed_itself(&extra);
	}
	mt_value(freed);
	return mt_end();
}
