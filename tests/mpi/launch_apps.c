// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says which program of the job this rank is: "rank R of N app A ARGUMENTS VARIABLE", with
 * MPI_APPNUM and the variable WHICH.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, flag = 0, *app = NULL, sum = 0;
	const char *which = getenv("WHICH");

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != size * (size - 1) / 2)
		MPI_Abort(MPI_COMM_WORLD, 3);
	printf("rank %d of %d app %d %s %s\n", rank, size, flag ? *app : -1,
	       argc > 1 ? argv[1] : "-", which ? which : "-");
	MPI_Finalize();
	return 0;
}
