// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sparse exchange: synchronous sends, probes, and a non-blocking barrier that ends a round.
 * Many messages lie at a rank before it looks for the first one.
 */
#include "mt.h"

#include <unistd.h>

#define MOST	24

/* Is the barrier over? Asked in each way that there is. */
static int is_over(MPI_Request *barrier, int way)
{
	int flag = 0, n = 0, which;

	switch (way) {
	case 0:
		MPI_Test(barrier, &flag, MPI_STATUS_IGNORE);
		return flag;
	case 1:
		MPI_Testall(1, barrier, &flag, MPI_STATUSES_IGNORE);
		return flag;
	case 2:
		MPI_Testany(1, barrier, &which, &flag, MPI_STATUS_IGNORE);
		return flag;
	case 3:
		MPI_Testsome(1, barrier, &n, &which, MPI_STATUSES_IGNORE);
		return n;
	default:
		MPI_Request_get_status(*barrier, &flag, MPI_STATUS_IGNORE);
		if (flag)
			MPI_Wait(barrier, MPI_STATUS_IGNORE);
		return flag;
	}
}

int main(int argc, char **argv)
{
	MPI_Request send[MOST], barrier;
	MPI_Status status;
	int out[MOST], got, flag, sent, done, received;
	long sum;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 40; round++) {
		sent = round % 3 * (MOST / 2);
		for (int i = 0; i < sent; i++) {
			out[i] = (i % 2 ? -1 : 1) * (mt_rank * 100 + round);
			MPI_Issend(&out[i], 1, MPI_INT, i % 2 ? LEFT : RIGHT, round, MPI_COMM_WORLD,
				   &send[i]);
		}
		mt_value(sent);
		usleep(4000 * ((round + mt_rank) % 2));
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
				done = is_over(&barrier, round / 3 % 5);
				continue;
			}
			MPI_Testall(sent, send, &flag, MPI_STATUSES_IGNORE);
			if (flag)
				MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
		}
		CHECK(received == sent);
		CHECK(sum == sent / 2 * ((LEFT - RIGHT) * 100));
	}
	return mt_end();
}
