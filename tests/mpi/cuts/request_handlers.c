// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose error handler runs when a request fails: that of its communicator, of another in the
 * array, or of MPI_COMM_WORLD. Libraries differ in it; with and without a checkpoint between it
 * is the library's way. Each handler adds another number to the result; not where MPI_Wait and
 * MPI_Test fail, of which MPICH means the request's communicator but does not know it over each
 * of its networks.
 */
#include "cut.h"

static MPI_Comm fine, failing;
static int calls, either;

static void count(MPI_Comm *comm, int *code, ...)
{
	calls++;
	if (!either)
		mt_value(*comm == MPI_COMM_WORLD ? 1 : *comm == fine ? 1000 : 1000000);
}

/* Two receives of one number: the second message, which is too long for its own, comes last. */
static void begin(MPI_Request requests[2], int *in, int tag)
{
	int out[2] = { tag, tag };

	MPI_Irecv(&in[0], 1, MPI_INT, LEFT, tag, fine, &requests[0]);
	MPI_Irecv(&in[1], 1, MPI_INT, LEFT, tag, failing, &requests[1]);
	MPI_Send(out, 1, MPI_INT, RIGHT, tag, fine);
	MPI_Send(out, 2, MPI_INT, RIGHT, tag, failing);
	cut_await_all(1, tag);
}

static void end(MPI_Request requests[2], const int *in, int tag)
{
	CHECK(requests[0] == MPI_REQUEST_NULL && in[0] == tag);
	/* one that failed may be left in the array, and is then of no more use */
	requests[1] = MPI_REQUEST_NULL;
	MPI_Barrier(MPI_COMM_WORLD);
}

static void one_by_one(int tag)
{
	MPI_Request requests[2];
	MPI_Status status;
	int in[2] = { -1, -1 }, flag = 0;

	calls = 0;
	begin(requests, in, tag);
	MPI_Wait(&requests[0], &status);
	either = 1;
	CHECK(MPI_Wait(&requests[1], &status) != MPI_SUCCESS);
	either = 0;
	end(requests, in, tag);
	begin(requests, in, tag);
	MPI_Wait(&requests[0], &status);
	either = 1;
	while (!flag && !MPI_Test(&requests[1], &flag, &status))
		;
	either = 0;
	CHECK(flag && calls == 2);
	end(requests, in, tag);
	begin(requests, in, tag);
	MPI_Wait(&requests[0], &status);
	for (flag = 0; !flag; )
		mt_value(MPI_Request_get_status(requests[1], &flag, &status) ? 7 : 0);
	either = 1;
	MPI_Wait(&requests[1], &status);
	either = 0;
	end(requests, in, tag);
}

static void all(int tag)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int in[2] = { -1, -1 }, flag = 0, rc = 0;

	begin(requests, in, tag);
	CHECK(MPI_Waitall(2, requests, statuses) != MPI_SUCCESS);
	end(requests, in, tag);
	begin(requests, in, tag);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	while (!flag && !rc)
		rc = MPI_Testall(2, requests, &flag, statuses);
	CHECK(rc != MPI_SUCCESS);
	end(requests, in, tag);
}

/* As many calls as it takes. */
static void some(int tag, int way)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int in[2] = { -1, -1 }, done = 0, failed = 0, n, at[2];

	begin(requests, in, tag);
	while (done < 2) {
		int rc;

		n = 1;
		switch (way) {
		case 0:
			rc = MPI_Waitany(2, requests, &at[0], &statuses[0]);
			break;
		case 1:
			rc = MPI_Testany(2, requests, &at[0], &n, &statuses[0]);
			break;
		case 2:
			rc = MPI_Waitsome(2, requests, &n, at, statuses);
			break;
		default:
			rc = MPI_Testsome(2, requests, &n, at, statuses);
		}
		done += n;
		failed += rc != MPI_SUCCESS;
	}
	CHECK(failed == 1);
	end(requests, in, tag);
}

int main(int argc, char **argv)
{
	MPI_Errhandler errh;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &fine);
	MPI_Comm_dup(MPI_COMM_WORLD, &failing);
	MPI_Comm_create_errhandler(count, &errh);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, errh);
	MPI_Comm_set_errhandler(fine, errh);
	MPI_Comm_set_errhandler(failing, errh);
	MPI_Errhandler_free(&errh);
	one_by_one(1);
	all(2);
	for (int way = 0; way < 4; way++)
		some(3 + way, way);
	MPI_Comm_free(&failing);
	MPI_Comm_free(&fine);
	return mt_end();
}
