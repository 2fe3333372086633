// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_Comm_free waits for nobody: communicators are freed in another order in each rank, before
 * and after others meet, and with a message still to come on one of them.
 * CUT_ROUNDS makes it last, for tests that interrupt it.
 */
#include "mt.h"

static void other_order(void)
{
	MPI_Comm first, second;

	MPI_Comm_dup(MPI_COMM_WORLD, &first);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -mt_rank, &second);
	if (mt_rank % 2) {
		MPI_Comm_free(&first);
		MPI_Comm_free(&second);
	} else {
		MPI_Comm_free(&second);
		MPI_Comm_free(&first);
	}
	CHECK(first == MPI_COMM_NULL && second == MPI_COMM_NULL);
}

/* All but rank 0 are done with it before rank 0 is; one has a message of it to come. */
static void before_a_message(int round)
{
	int in = -1, out = round;
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	if (mt_rank == 1)
		MPI_Irecv(&in, 1, MPI_INT, 0, 5, comm, &request);
	if (mt_rank)
		MPI_Comm_free(&comm);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!mt_rank) {
		MPI_Ssend(&out, 1, MPI_INT, 1, 5, comm);
		MPI_Comm_free(&comm);
	}
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(mt_rank != 1 || in == round);
}

int main(int argc, char **argv)
{
	const char *longer = getenv("CUT_ROUNDS");
	int rounds = longer ? 4 * atoi(longer) : 40;
	MPI_Comm last;

	mt_begin(&argc, &argv);
	for (int i = 0; i < rounds; i++) {
		other_order();
		before_a_message(i);
		mt_value(i);
	}
	/* freed right before the end */
	MPI_Comm_dup(MPI_COMM_WORLD, &last);
	if (mt_rank)
		MPI_Comm_free(&last);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!mt_rank)
		MPI_Comm_free(&last);
	return mt_end();
}
