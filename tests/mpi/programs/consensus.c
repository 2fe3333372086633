// SPDX-License-Identifier: GPL-2.0-only
/* Sparse exchange: synchronous sends, probes, and a non-blocking barrier that ends a round. */
#include "mt.h"

int main(int argc, char **argv)
{
	MPI_Request send[2], barrier;
	MPI_Status status;
	int out[2], got, flag, sent, done, received;
	long sum;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 12; round++) {
		out[0] = mt_rank * 100 + round;
		out[1] = -out[0];
		sent = round % 3;
		for (int i = 0; i < sent; i++)
			MPI_Issend(&out[i], 1, MPI_INT, i ? LEFT : RIGHT, round, MPI_COMM_WORLD, &send[i]);
		mt_value(sent);
		barrier = MPI_REQUEST_NULL;
		received = 0;
		sum = 0;
		for (done = 0; !done;) {
			MPI_Iprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &flag, &status);
			if (flag) {
				MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, round, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
				sum += got;
				received++;
				mt_value(got);
			}
			if (barrier != MPI_REQUEST_NULL) {
				MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
				continue;
			}
			MPI_Testall(sent, send, &flag, MPI_STATUSES_IGNORE);
			if (flag)
				MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
		}
		CHECK(received == sent);
		CHECK(sum == (sent > 0 ? LEFT * 100 + round : 0) - (sent > 1 ? RIGHT * 100 + round : 0));
	}
	return mt_end();
}
