// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI programs that are in a bad place when a checkpoint comes: badluck MODE DIRECTORY
 *
 * They go on when DIRECTORY/go exists, and say how far they are in files there: a job whose
 * shim was killed has no standard output.
 *
 *	absent	rank 1 computes while the others wait for it in a barrier
 *	unsent	rank 0 receives what rank 1 does not send
 *	leaves	as absent, and rank 1 ends without MPI_Finalize
 *	aborts	as absent, and rank 1 calls MPI_Abort
 *	early	no rank has called MPI_Init
 *	late	all have called MPI_Finalize
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dir;

static void mark(const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0666);
	if (fd >= 0)
		close(fd);
}

static void await_go(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/go", dir);
	while (access(path, F_OK))
		usleep(10000);
}

static void absent(int rank, const char *mode)
{
	if (rank == 1) {
		mark("there");
		await_go();
		if (!strcmp(mode, "leaves"))
			_exit(0);
		if (!strcmp(mode, "aborts"))
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void unsent(int rank)
{
	int number = 0;

	if (rank == 1) {
		mark("there");
		await_go();
		number = 4711;
		MPI_Send(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
	} else if (rank == 0) {
		MPI_Recv(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (number != 4711)
			MPI_Abort(MPI_COMM_WORLD, 4);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	int rank, sum = 0, one = 1, size;

	dir = argc > 2 ? argv[2] : ".";
	if (!strcmp(mode, "early")) {
		mark("there");
		await_go();
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(mode, "unsent"))
		unsent(rank);
	else if (strcmp(mode, "early") && strcmp(mode, "late"))
		absent(rank, mode);
	/* a checkpoint that waited for this is not met by the end */
	for (int i = 0; i < 100 && !strcmp(mode, "absent"); i++) {
		usleep(30000);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum == size && !rank)
		mark("right");
	MPI_Finalize();
	if (!strcmp(mode, "late")) {
		mark("there");
		await_go();
	}
	return 0;
}
