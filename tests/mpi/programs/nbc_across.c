// SPDX-License-Identifier: GPL-2.0-only
/* Non-blocking collectives begun at one step and completed several later, in another order. */
#include "mt.h"

#define KEPT 6

int main(int argc, char **argv)
{
	long in[KEPT], out[KEPT], scan, bcast, *all;
	MPI_Request request[KEPT], extra[3];
	MPI_Comm comm[KEPT];
	int flag;

	mt_begin(&argc, &argv);
	all = malloc((size_t)mt_size * sizeof(long));
	for (int i = 0; i < KEPT; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < KEPT; i++) {
			in[i] = mt_rank * 100 + round + i;
			out[i] = -1;
			MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG, i & 1 ? MPI_MAX : MPI_SUM,
				       comm[i], &request[i]);
			mt_value(i);
		}
		bcast = mt_rank == 1 ? 77 + round : 0;
		MPI_Ibcast(&bcast, 1, MPI_LONG, 1, MPI_COMM_WORLD, &extra[0]);
		MPI_Iscan(&in[0], &scan, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &extra[1]);
		MPI_Iallgather(&in[1], 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD, &extra[2]);
		for (int i = KEPT - 1; i >= 0; i--) {
			mt_value(round);
			MPI_Wait(&request[i], MPI_STATUS_IGNORE);
			CHECK(i & 1 ? out[i] == (mt_size - 1) * 100 + round + i
				    : out[i] == 50L * mt_size * (mt_size - 1) +
							(long)mt_size * (round + i));
		}
		do
			MPI_Testall(3, extra, &flag, MPI_STATUSES_IGNORE);
		while (!flag);
		CHECK(bcast == 77 + round && all[LEFT] == LEFT * 100 + round + 1);
		CHECK(scan == 50L * mt_rank * (mt_rank + 1) + (long)(mt_rank + 1) * round);
	}
	for (int i = 0; i < KEPT; i++)
		MPI_Comm_free(&comm[i]);
	free(all);
	return mt_end();
}
