// SPDX-License-Identifier: GPL-2.0-only
/* Sixty communicators alive at once, of all shapes; each still has its members and its traffic. */
#include "mt.h"

#define N 60

int main(int argc, char **argv)
{
	MPI_Comm comm[N];
	int rank, size, sum, from;

	mt_begin(&argc, &argv);
	for (int i = 0; i < N; i++) {
		if (i % 3 == 0)
			MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
		else if (i % 3 == 1)
			MPI_Comm_split(MPI_COMM_WORLD, 0, -mt_rank, &comm[i]);
		else
			MPI_Comm_split(comm[i - 1], mt_rank < mt_size / 2, 0, &comm[i]);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i += 7) {
			MPI_Comm_rank(comm[i], &rank);
			MPI_Comm_size(comm[i], &size);
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm[i]);
			CHECK(sum == size * (size - 1) / 2);
			MPI_Sendrecv(&mt_rank, 1, MPI_INT, (rank + 1) % size, i, &from, 1, MPI_INT,
				     (rank + size - 1) % size, i, comm[i], MPI_STATUS_IGNORE);
			CHECK(i % 3 != 0 || from == LEFT);
			CHECK(i % 3 != 1 || from == RIGHT);
			mt_value(from);
		}
	for (int i = N - 1; i >= 0; i--)
		MPI_Comm_free(&comm[i]);
	return mt_end();
}
