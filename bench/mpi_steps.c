// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job to be checkpointed while it is measured: mpi_steps STEPS [REST_MS]
 *
 * A step is an exchange with both neighbours, an allreduce and a rest. Every tenth is followed by
 * ten barriers; rank 0 says how long one took: "barrier STEP NS". The last line is a sum
 * that is the same however often it was interrupted.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORDS	1024
#define BARRIERS 10

int main(int argc, char **argv)
{
	static double mine[WORDS], left[WORDS], right[WORDS];
	int rank, size, steps, step, i;
	struct timespec rest = { 0 };
	double sum = 0, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	steps = argc > 1 ? atoi(argv[1]) : 1000;
	rest.tv_nsec = (argc > 2 ? atol(argv[2]) : 5) * 1000000;
	for (i = 0; i < WORDS; i++)
		mine[i] = rank + i;
	for (step = 1; step <= steps; step++) {
		MPI_Sendrecv(mine, WORDS, MPI_DOUBLE, (rank + 1) % size, 1, left, WORDS, MPI_DOUBLE,
			     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Sendrecv(mine, WORDS, MPI_DOUBLE, (rank + size - 1) % size, 2, right, WORDS,
			     MPI_DOUBLE, (rank + 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (i = 0, sum = 0; i < WORDS; i++) {
			mine[i] = (left[i] + 2 * mine[i] + right[i]) / 4;
			sum += mine[i];
		}
		MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		nanosleep(&rest, NULL);
		if (step % 10 == 0) {
			double begin;

			MPI_Barrier(MPI_COMM_WORLD);
			begin = MPI_Wtime();
			for (i = 0; i < BARRIERS; i++)
				MPI_Barrier(MPI_COMM_WORLD);
			if (!rank) {
				printf("barrier %d %.0f\n", step,
				       (MPI_Wtime() - begin) / BARRIERS * 1e9);
				fflush(stdout);
			}
		}
	}
	if (!rank)
		printf("sum %.17g\n", all);
	MPI_Finalize();
	return 0;
}
