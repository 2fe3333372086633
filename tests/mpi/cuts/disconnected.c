// SPDX-License-Identifier: GPL-2.0-only
/*
 * A window outlives the communicator that it was made of, which was disconnected: one counter
 * at rank 0 that all draw numbers from stays one over cuts.  So does a file.
 */
#include "cut.h"

#define DRAWS	20

static long draw(MPI_Win win)
{
	long one = 1, got;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, win);
	MPI_Win_unlock(0, win);
	return got;
}

int main(int argc, char **argv)
{
	char path[64] = "disconnected.file";
	long *counter, sum = 0, all, n;
	MPI_Comm comm;
	MPI_File file;
	MPI_Win win;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Win_allocate(sizeof(*counter), sizeof(*counter), MPI_INFO_NULL, comm, &counter, &win);
	MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	*counter = 0;
	MPI_Barrier(comm);
	MPI_Comm_disconnect(&comm);
	CHECK(comm == MPI_COMM_NULL);
	for (int round = 0; round < 3; round++) {
		cut_await_all(1, round);
		for (int i = 0; i < DRAWS; i++)
			sum += draw(win);
		MPI_File_write_at_all(file, mt_rank * (MPI_Offset)sizeof(sum), &sum, 1, MPI_LONG,
				      MPI_STATUS_IGNORE);
	}
	MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	n = 3L * DRAWS * mt_size;
	CHECK(all == n * (n - 1) / 2);
	MPI_File_close(&file);
	MPI_Win_free(&win);
	return mt_end();
}
