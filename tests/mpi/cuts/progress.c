// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rank 0 is outside MPI until there was a cut, with a message nobody has asked for yet; the
 * others are in a call that needs its progress, which a checkpoint in that place has to make
 * for it. Then once more, while the others are in a fence.
 */
#include "cut.h"

int main(int argc, char **argv)
{
	static int memory[4];
	int got, sum = 0;
	MPI_Win win;

	mt_begin(&argc, &argv);
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int round = 0; round < ROUNDS; round++) {
		if (!mt_rank)
			cut_await(1, round);
		MPI_Win_fence(0, win);
		if (mt_rank) {
			/* a receive, which a cut can be in, and not a collective */
			MPI_Recv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(&round, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
			MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
			MPI_Accumulate(&mt_rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
			MPI_Win_unlock(0, win);
			sum += mt_rank;
			continue;
		}
		for (int i = 1; i < mt_size; i++)
			MPI_Send(&round, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
		cut_await(1, round);
		for (int i = 1; i < mt_size; i++) {
			MPI_Recv(&got, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(got == round);
		}
	}
	MPI_Win_fence(0, win);
	mt_value(sum);
	if (!mt_rank)
		CHECK(memory[0] == ROUNDS * mt_size * (mt_size - 1) / 2);
	MPI_Win_free(&win);
	return mt_end();
}
