// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks update blocks of a common file by MPI-IO; each mixes what another rank wrote last into
 * its chain, and the sum of the chains says who reads whose block next.
 */
#include <mpi.h>

#include "step.h"

#define SIZE	16384
#define STEPS	30

static void mpi_call(int code, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (code == MPI_SUCCESS)
		return;
	MPI_Error_string(code, text, &length);
	fprintf(stderr, "%s: %s\n", what, text);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

/* What one rank wrote before is read by another: sync, barrier, sync, as MPI wants it. */
static void sync_all(MPI_File file)
{
	mpi_call(MPI_File_sync(file), "MPI_File_sync");
	MPI_Barrier(MPI_COMM_WORLD);
	mpi_call(MPI_File_sync(file), "MPI_File_sync");
}

int main(int argc, char **argv)
{
	static uint64_t block[SIZE / 8];
	uint64_t chain, all;
	int rank, size, i;
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	chain = all = (uint64_t)rank + 1;
	mpi_call(MPI_File_open(MPI_COMM_WORLD, "field", MPI_MODE_CREATE | MPI_MODE_RDWR,
			       MPI_INFO_NULL, &file), "MPI_File_open");
	mpi_call(MPI_File_write_at_all(file, (MPI_Offset)rank * SIZE, block, SIZE, MPI_BYTE,
				       MPI_STATUS_IGNORE), "MPI_File_write_at_all");
	for (i = 0; i < STEPS; i++) {
		int from = (int)((all + (uint64_t)rank) % (uint64_t)size);

		sync_all(file);
		mpi_call(MPI_File_read_at_all(file, (MPI_Offset)from * SIZE, block, SIZE, MPI_BYTE,
					      MPI_STATUS_IGNORE), "MPI_File_read_at_all");
		chain = step_mix_all(chain, block, SIZE);
		MPI_Allreduce(&chain, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		step_fill(chain, block, SIZE);
		if (rank % 2)
			step_nap();
		mpi_call(MPI_File_write_at(file, (MPI_Offset)rank * SIZE, block, SIZE, MPI_BYTE,
					   MPI_STATUS_IGNORE), "MPI_File_write_at");
		step_nap();
		if (!rank && i % 10 == 0)
			step_say((unsigned int)i, all);
	}
	mpi_call(MPI_File_close(&file), "MPI_File_close");
	if (!rank)
		step_say((unsigned int)i, all);
	MPI_Finalize();
	return 0;
}
