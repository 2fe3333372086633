// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says which MPI library this rank has: "rank R of N", and each mapped file with code whose name
 * begins with libmpi, as "below PATH" in the range of the lower half and "above PATH" outside.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define LOWER_BASE	0x200000000000UL
#define LOWER_END	0x210000000000UL

static void say_mapped(int rank)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096], *name;
	unsigned long start;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%*x r-xp %*s %*s %*s %4095s", &start, path) != 2)
			continue;
		name = strrchr(path, '/');
		if (name && !strncmp(name + 1, "libmpi", 6))
			printf("%d %s %s\n", rank,
			       start >= LOWER_BASE && start < LOWER_END ? "below" : "above", path);
	}
	if (maps)
		fclose(maps);
}

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	printf("rank %d of %d\n", rank, size);
	say_mapped(rank);
	MPI_Finalize();
	return 0;
}
