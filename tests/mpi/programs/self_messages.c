// SPDX-License-Identifier: GPL-2.0-only
/* Messages to oneself, on MPI_COMM_SELF and others, unreceived over many steps. */
#include "mt.h"

int main(int argc, char **argv)
{
	int out[8], in, n = 0;
	MPI_Request request[8], receive;
	MPI_Status status;
	MPI_Comm self;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_SELF, &self);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 8; i++) {
			out[i] = round * 100 + i;
			MPI_Isend(&out[i], 1, MPI_INT, i & 1 ? 0 : mt_rank, i,
				  i & 1 ? self : MPI_COMM_WORLD, &request[i]);
		}
		mt_value(round);
		MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, self, &receive);
		mt_value(round);
		MPI_Wait(&receive, &status);
		CHECK(in == round * 100 + 1 && status.MPI_TAG == 1 && status.MPI_SOURCE == 0);
		for (int i = 7; i >= 0; i--) {
			if (i == 1)
				continue;
			MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, i, i & 1 ? self : MPI_COMM_WORLD,
				 &status);
			CHECK(in == round * 100 + i && status.MPI_SOURCE == (i & 1 ? 0 : mt_rank));
			n++;
		}
		MPI_Waitall(8, request, MPI_STATUSES_IGNORE);
		if (round & 1)
			MPI_Barrier(MPI_COMM_WORLD);
	}
	mt_value(n);
	MPI_Comm_free(&self);
	return mt_end();
}
