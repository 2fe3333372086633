// SPDX-License-Identifier: GPL-2.0-only
/* An intercommunicator kept: rooted collectives, messages across it, merged and made anew. */
#include "mt.h"

int main(int argc, char **argv)
{
	int side, rank, size, remote, root, value, sum, order;
	MPI_Comm half, inter, merged, copy;

	mt_begin(&argc, &argv);
	side = mt_rank % 2;
	MPI_Comm_split(MPI_COMM_WORLD, side, mt_rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 4, &inter);
	MPI_Comm_dup(inter, &copy);
	MPI_Comm_rank(inter, &rank);
	MPI_Comm_size(inter, &size);
	MPI_Comm_remote_size(inter, &remote);
	for (int round = 0; round < 8; round++) {
		value = side == 0 && rank == 0 ? 500 + round : -1;
		root = side ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT;
		MPI_Bcast(&value, 1, MPI_INT, root, round & 1 ? copy : inter);
		CHECK(!side || value == 500 + round);
		mt_value(round);
		value = mt_rank + 1;
		MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
		CHECK(sum == (side ? (mt_size + 1) / 2 * ((mt_size + 1) / 2) :
			      mt_size / 2 * (mt_size / 2 + 1)));
		if (rank < remote && rank < size) {
			value = mt_rank * 10 + round;
			MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 1, rank, 1, copy,
					     MPI_STATUS_IGNORE);
			CHECK(value == (2 * rank + 1 - side) * 10 + round);
		}
		MPI_Intercomm_merge(inter, side, &merged);
		MPI_Comm_rank(merged, &order);
		CHECK(order == (side ? remote + rank : rank));
		MPI_Barrier(merged);
		mt_value(order);
		MPI_Comm_free(&merged);
	}
	MPI_Comm_free(&copy);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	return mt_end();
}
