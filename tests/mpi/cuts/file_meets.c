// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls on files in which the ranks wait for each other, which they come to at different times:
 * a checkpoint may not ask for a rank that waits in one before the others have come.
 */
#include "cut.h"

int main(int argc, char **argv)
{
	MPI_Offset at;
	MPI_File file;
	MPI_Info info;

	mt_begin(&argc, &argv);
	MPI_File_open(MPI_COMM_WORLD, "cut_file_meets",
		      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		      &file);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", "enable");
	for (int round = 0; round < ROUNDS; round++) {
		cut_compute(round);
		CHECK(!MPI_File_set_info(file, info));
	}
	for (int round = 0; round < ROUNDS; round++) {
		cut_compute(round);
		CHECK(!MPI_File_seek_shared(file, round, MPI_SEEK_SET));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_get_position_shared(file, &at);
	CHECK(at == ROUNDS - 1);
	MPI_Info_free(&info);
	MPI_File_close(&file);
	return mt_end();
}
