// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communicators that are being made (MPI_Comm_idup) while their members compute: a checkpoint
 * meets them before they are there.
 */
#include "cut.h"

int main(int argc, char **argv)
{
	MPI_Request request;
	MPI_Comm comm;
	int sum;

	mt_begin(&argc, &argv);
	for (int round = 0; round < ROUNDS; round++) {
		MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
		cut_compute(round);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comm);
		CHECK(sum == round * mt_size);
		MPI_Comm_free(&comm);
	}
	mt_value(ROUNDS);
	return mt_end();
}
