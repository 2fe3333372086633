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

int main(int argc, char **argv)
{
	int extra = 5, n, flag;
	MPI_Request request;
	MPI_Status status;

	mt_begin(&argc, &argv);
	MPI_Grequest_start(query, release, cancel, &extra, &request);
	MPI_Test(&request, &flag, &status);
	CHECK(!flag && request != MPI_REQUEST_NULL);
	MPI_Grequest_complete(request);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &n);
	CHECK(n == 5 && status.MPI_TAG == 4 && request == MPI_REQUEST_NULL);
	CHECK(queried == 1 && freed == 1);
	MPI_Grequest_start(query, release, cancel, &extra, &request);
	MPI_Cancel(&request);
	CHECK(cancelled == 1);
	MPI_Grequest_complete(request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag && freed == 2);
	mt_value(freed);
	return mt_end();
}
