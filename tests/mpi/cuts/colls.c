// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives on communicators that overlap, ranks that come late to them, non-blocking ones
 * under way, communicators made and freed, with topology, between groups, and of a group alone.
 */
#include "cut.h"

static void add(void *in, void *io, int *n, MPI_Datatype *type)
{
	for (int i = 0; i < *n; i++)
		((long *)io)[i] += ((long *)in)[i];
}

static void temporary(int round)
{
	MPI_Comm half, grid, group_comm, inter;
	MPI_Group world, group;
	int rank, size, dims[1] = { 0 }, periods[1] = { 1 }, left, right, one = 1, sum, remote;

	MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, -mt_rank, &half);
	cut_compute(round);
	MPI_Comm_size(half, &size);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
	CHECK(sum == size);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
			     (mt_size - 1) - (mt_size - 1 + mt_rank + 1) % 2, round, &inter);
	cut_compute(round + 1);
	MPI_Comm_remote_size(inter, &remote);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
	CHECK(sum == remote && remote + size == mt_size);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	dims[0] = mt_size;
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
	cut_compute(round + 2);
	MPI_Cart_shift(grid, 0, 1, &left, &right);
	CHECK(left == LEFT && right == RIGHT);
	MPI_Comm_free(&grid);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){ 1, 0 }, &group);
	MPI_Group_free(&world);
	if (mt_rank < 2) {
		MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &group_comm);
		cut_compute(round);
		MPI_Comm_rank(group_comm, &rank);
		CHECK(rank == 1 - mt_rank);
		MPI_Bcast(&rank, 1, MPI_INT, 0, group_comm);
		CHECK(rank == 0);
		MPI_Comm_free(&group_comm);
	}
	MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
	MPI_Comm other, row;
	MPI_Request request[2];
	MPI_Op op;
	long a, b, c, d;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank / 2, mt_rank, &row);
	MPI_Op_create(add, 1, &op);
	for (int round = 0; round < ROUNDS; round++) {
		a = round + mt_rank;
		cut_compute(round);
		MPI_Allreduce(&a, &b, 1, MPI_LONG, op, MPI_COMM_WORLD);
		CHECK(b == (long)round * mt_size + mt_size * (mt_size - 1) / 2);
		MPI_Iallreduce(&a, &c, 1, MPI_LONG, MPI_SUM, other, &request[0]);
		MPI_Ibarrier(MPI_COMM_WORLD, &request[1]);
		cut_compute(round + 1);
		MPI_Bcast(&d, 1, MPI_LONG, 0, row);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		CHECK(c == b);
		d = b;
		MPI_Bcast(&d, 1, MPI_LONG, 0, row);
		MPI_Reduce(&b, &c, 1, MPI_LONG, MPI_SUM, round % mt_size, other);
		cut_compute(round + 2);
		MPI_Barrier(row);
		if (!(round % 5))
			temporary(round);
		mt_value(b + d);
	}
	MPI_Op_free(&op);
	MPI_Comm_free(&other);
	MPI_Comm_free(&row);
	return mt_end();
}
