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
 *	clock	each rank looks at MPI_Wtime all the time; "ahead" is there when an hour has passed
 *	name	each rank writes the processor's name to DIRECTORY/name.RANK all the time
 *	apart	for two ranks with interruptible collectives: rank 1 computes while the other waits
 *		for it, in turn, in a barrier, a reduction in place, MPI_Alltoallv, MPI_Comm_dup, a
 *		reduction between groups, MPI_Finalize; each until DIRECTORY/go.N
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

static int is_missing(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK);
}

static void await(const char *name)
{
	while (is_missing(name))
		usleep(10000);
}

static void await_go(void)
{
	await("go");
}

/* Rank 1 is where the others wait for it. */
static void stage(int rank, int number)
{
	char name[16];

	if (rank != 1)
		return;
	snprintf(name, sizeof(name), "there.%d", number);
	mark(name);
	snprintf(name, sizeof(name), "go.%d", number);
	await(name);
}

static int apart(int rank)
{
	double sum[2] = { rank + 0.1, rank * 1e17 };
	int to[2] = { rank * 10, rank * 10 + 1 }, from[2] = { 0 }, n[2] = { 1, 1 },
		at[2] = { 0, 1 };
	int one = 7 + rank, remote = 0, members = 0, good;
	MPI_Comm dup, inter;

	mark("there");
	stage(rank, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	stage(rank, 1);
	MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	good = sum[0] == 0.1 + 1.1 && sum[1] == 1e17;
	stage(rank, 2);
	MPI_Alltoallv(to, n, at, MPI_INT, from, n, at, MPI_INT, MPI_COMM_WORLD);
	good = good && from[0] == rank && from[1] == 10 + rank;
	stage(rank, 3);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_size(dup, &members);
	MPI_Intercomm_create(MPI_COMM_SELF, 0, dup, 1 - rank, 5, &inter);
	stage(rank, 4);
	MPI_Allreduce(&one, &remote, 1, MPI_INT, MPI_SUM, inter);
	good = good && members == 2 && remote == 8 - rank;
	MPI_Comm_free(&inter);
	MPI_Comm_free(&dup);
	return good;
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

/* From the first to the last look it never goes back, and is neither long ago nor far away. */
static int clock_goes_on(int rank)
{
	double first = MPI_Wtime(), last = first, now;

	if (!rank)
		mark("there");
	while (is_missing("go")) {
		now = MPI_Wtime();
		if (now < last || now > first + 7200)
			return 0;
		if (!rank && last < first + 3600 && now >= first + 3600)
			mark("ahead");
		last = now;
	}
	return 1;
}

static void name_there(int rank)
{
	char name[MPI_MAX_PROCESSOR_NAME], path[512];
	int len;
	FILE *f;

	while (is_missing("go")) {
		MPI_Get_processor_name(name, &len);
		snprintf(path, sizeof(path), "%s/name.%d", dir, rank);
		f = fopen(path, "w");
		if (f) {
			fprintf(f, "%s\n", name);
			fclose(f);
		}
		usleep(100000);
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
	else if (!strcmp(mode, "apart"))
		one = apart(rank);
	else if (!strcmp(mode, "clock"))
		one = clock_goes_on(rank);
	else if (!strcmp(mode, "name"))
		name_there(rank);
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
	if (!strcmp(mode, "apart"))
		stage(rank, 5);
	MPI_Finalize();
	if (!strcmp(mode, "late")) {
		mark("there");
		await_go();
	}
	return 0;
}
