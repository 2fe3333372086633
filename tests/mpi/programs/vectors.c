// SPDX-License-Identifier: GPL-2.0-only
/* Collectives with counts per rank, whose sizes change from round to round. */
#include "mt.h"

int main(int argc, char **argv)
{
	int *counts, *at, *all, *mine, total, sum, root, n;

	mt_begin(&argc, &argv);
	counts = malloc((size_t)mt_size * sizeof(int));
	at = malloc((size_t)mt_size * sizeof(int));
	all = malloc((size_t)mt_size * 64 * sizeof(int));
	mine = malloc((size_t)mt_size * 64 * sizeof(int));
	for (int round = 0; round < 8; round++) {
		total = 0;
		for (int i = 0; i < mt_size; i++) {
			counts[i] = (i * 3 + round) % 5;
			at[i] = total;
			total += counts[i];
		}
		n = counts[mt_rank];
		for (int i = 0; i < n; i++)
			mine[i] = mt_rank * 100 + round + i;
		MPI_Allgatherv(mine, n, MPI_INT, all, counts, at, MPI_INT, MPI_COMM_WORLD);
		sum = 0;
		for (int r = 0; r < mt_size; r++)
			for (int i = 0; i < counts[r]; i++)
				sum += all[at[r] + i] == r * 100 + round + i;
		CHECK(sum == total);
		root = round % mt_size;
		memset(all, 0, (size_t)mt_size * 64 * sizeof(int));
		MPI_Gatherv(mine, n, MPI_INT, all, counts, at, MPI_INT, root, MPI_COMM_WORLD);
		memset(mine, 0, 64 * sizeof(int));
		MPI_Scatterv(all, counts, at, MPI_INT, mine, n, MPI_INT, root, MPI_COMM_WORLD);
		CHECK(!n || mine[n - 1] == mt_rank * 100 + round + n - 1);
		for (int i = 0; i < total; i++)
			all[i] = i + mt_rank;
		MPI_Reduce_scatter(all, mine, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(!n || mine[0] == at[mt_rank] * mt_size + mt_size * (mt_size - 1) / 2);
		sum = mt_rank + round;
		MPI_Exscan(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(!mt_rank || total == mt_rank * (mt_rank - 1) / 2 + mt_rank * round);
		mt_value(n);
	}
	free(counts);
	free(at);
	free(all);
	free(mine);
	return mt_end();
}
