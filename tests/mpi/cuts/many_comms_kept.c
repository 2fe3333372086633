// SPDX-License-Identifier: GPL-2.0-only
/*
 * More communicators than a status page has room for, of which few have to be told: many of one
 * process, which nobody waits for, and then many that are made and freed one after the other,
 * each from the one before.
 */
#include "cut.h"

#define OF_ONE	530
#define IN_TURN	270

int main(int argc, char **argv)
{
	static MPI_Comm own[OF_ONE];
	MPI_Comm comm, split;
	int n;

	mt_begin(&argc, &argv);
	for (int i = 0; i < OF_ONE; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
	cut_await_all(1, 0);
	for (int i = 0; i < OF_ONE; i++)
		MPI_Comm_free(&own[i]);
	for (int i = 0; i < IN_TURN; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_split(comm, mt_rank % 2, 0, &split);
		MPI_Comm_free(&comm);
		MPI_Comm_size(split, &n);
		CHECK(n == (mt_size + 1 - mt_rank % 2) / 2);
		MPI_Comm_free(&split);
	}
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = 0; i < OF_ONE; i++) {
		MPI_Comm_dup(comm, &split);
		MPI_Comm_free(&comm);
		comm = split;
	}
	cut_await_all(1, 1);
	MPI_Comm_free(&comm);
	MPI_Barrier(MPI_COMM_WORLD);
	return mt_end();
}
