// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees of communicators, halved down to one rank, freed from the root or the leaves, made
 * again.
 */
#include "mt.h"

#define DEPTH 8

int main(int argc, char **argv)
{
	MPI_Comm tree[DEPTH];
	int depth, rank, size, sum, below;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 6; round++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &tree[0]);
		for (depth = 0;; depth++) {
			MPI_Comm_rank(tree[depth], &rank);
			MPI_Comm_size(tree[depth], &size);
			MPI_Allreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, tree[depth]);
			mt_value(sum * (depth + 1));
			if (size == 1)
				break;
			MPI_Comm_split(tree[depth], rank >= (size + 1) / 2,
				       round & 1 ? -rank : rank, &tree[depth + 1]);
		}
		CHECK(sum == mt_rank);
		for (int i = 0; i <= depth; i++) {
			below = round % 3 ? depth - i : i;
			MPI_Comm_size(tree[below], &size);
			MPI_Bcast(&size, 1, MPI_INT, 0, tree[below]);
			mt_value(size);
			MPI_Comm_free(&tree[below]);
			CHECK(tree[below] == MPI_COMM_NULL);
		}
	}
	return mt_end();
}
