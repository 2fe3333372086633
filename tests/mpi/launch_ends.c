// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that end as they should not, for launch.t:
 *
 *	launch_ends early RANK		leaves with 0 without MPI_Finalize
 *	launch_ends never RANK		leaves with 0 before MPI_Init
 *	launch_ends status RANK CODE	leaves with CODE after MPI_Init
 *	launch_ends kill RANK SIGNAL	is killed after MPI_Init
 *	launch_ends wait RANK CODE FILE	all end when FILE exists, RANK with CODE
 *	launch_ends stdin		rank 0 passes what it reads on to all
 *
 * The others wait for it in a barrier: without its launcher they would for ever.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void leave(const char *how, int code)
{
	if (!strcmp(how, "early"))
		_exit(0);
	if (!strcmp(how, "status"))
		_exit(code);
	if (!strcmp(how, "kill"))
		raise(code);
}

static void wait_for(int rank, const char *file)
{
	int there = 0;

	while (!there) {
		there = !rank && !access(file, F_OK);
		usleep(50000);
		MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
}

static void pass_on(int rank)
{
	char text[64] = "";

	if (!rank && !fgets(text, sizeof(text), stdin))
		strcpy(text, "nothing\n");
	MPI_Bcast(text, sizeof(text), MPI_CHAR, 0, MPI_COMM_WORLD);
	printf("rank %d has %s", rank, text);
}

int main(int argc, char **argv)
{
	const char *number = getenv("STILLPOINT_RANK");
	int rank, who = argc > 2 ? atoi(argv[2]) : -1;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "never") && number && atoi(number) == who)
		return 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!strcmp(argv[1], "wait") && argc > 4) {
		wait_for(rank, argv[4]);
		MPI_Finalize();
		return rank == who ? atoi(argv[3]) : 0;
	}
	if (rank == who)
		leave(argv[1], argc > 3 ? atoi(argv[3]) : 0);
	if (who >= 0)
		MPI_Barrier(MPI_COMM_WORLD);
	else
		pass_on(rank);
	MPI_Finalize();
	return 0;
}
