// SPDX-License-Identifier: GPL-2.0-only
/* Distributed arrays as types, with their envelopes and contents after some rounds. */
#include "mt.h"

int main(int argc, char **argv)
{
	int sizes[2] = { 12, 4 }, how[2] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE };
	int args[2] = { 2, MPI_DISTRIBUTE_DFLT_DARG }, grid[2], whole[48], mine[48], n, size;
	int ni, na, nd, combiner, position;
	MPI_Datatype type;

	mt_begin(&argc, &argv);
	grid[0] = mt_size;
	grid[1] = 1;
	MPI_Type_create_darray(mt_size, mt_rank, 2, sizes, how, args, grid, MPI_ORDER_C, MPI_INT,
			       &type);
	MPI_Type_commit(&type);
	for (int i = 0; i < 48; i++)
		whole[i] = i;
	for (int round = 0; round < 8; round++) {
		MPI_Type_size(type, &size);
		n = size / (int)sizeof(int);
		position = 0;
		memset(mine, 0, sizeof(mine));
		MPI_Pack(whole, 1, type, mine, sizeof(mine), &position, MPI_COMM_WORLD);
		CHECK(position == size);
		/* the first row that is mine, and the one after it */
		CHECK(mine[0] == 8 * mt_rank && mine[7] == 8 * mt_rank + 7);
		mt_value(mine[n - 1]);
		MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
		CHECK(combiner == MPI_COMBINER_DARRAY && nd == 1 && na == 0);
		MPI_Sendrecv_replace(mine, n, MPI_INT, mt_rank, 1, mt_rank, 1, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Type_free(&type);
	return mt_end();
}
