// SPDX-License-Identifier: GPL-2.0-only
/* A window that is there at every step, while the ranks wait for messages. */
#include "mt.h"

int main(int argc, char **argv)
{
	int memory[16] = { -1 }, value = 0;
	MPI_Win win;

	mt_begin(&argc, &argv);
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (int round = 0; round < 20; round++) {
		mt_value(round);
		/* the others wait in a receive */
		MPI_Sendrecv_replace(&value, 1, MPI_INT, RIGHT, 1, LEFT, 1, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
	}
	MPI_Win_fence(0, win);
	value = mt_rank + 1;
	MPI_Put(&value, 1, MPI_INT, RIGHT, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	CHECK(memory[0] == LEFT + 1);
	MPI_Win_free(&win);
	return mt_end();
}
