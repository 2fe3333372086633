// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least cost of a call through the glue, of one rank by itself: MPI_Iprobe, and MPI_Test of no
 * request, as CPU time of the thread. The least of many blocks of calls hardly depends on what else
 * the machine does, so builds that differ by a nanosecond can be told apart. bench/mpi_call.sh runs
 * it.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define BLOCKS	60
#define CALLS	20000

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void call_iprobe(void)
{
	int flag;

	MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void call_test(void)
{
	MPI_Request none = MPI_REQUEST_NULL;
	int flag;

	MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
}

static double least(void (*call)(void))
{
	double best = 1e9;

	for (int block = 0; block < BLOCKS; block++) {
		double begin = cpu_ns(), each;

		for (int i = 0; i < CALLS; i++)
			call();
		each = (cpu_ns() - begin) / CALLS;
		best = each < best ? each : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	printf("iprobe %.2f test %.2f\n", least(call_iprobe), least(call_test));
	MPI_Finalize();
	return 0;
}
