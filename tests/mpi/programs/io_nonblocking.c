// SPDX-License-Identifier: GPL-2.0-only
/* MPI-IO: non-blocking reads and writes open over a step, on files of two communicators. */
#include "mt.h"

int main(int argc, char **argv)
{
	int out[64], in[64];
	char name[32];
	MPI_Request write, read;
	MPI_Status status;
	MPI_File file, own;
	MPI_Comm half;
	int n;

	mt_begin(&argc, &argv);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, mt_rank, &half);
	snprintf(name, sizeof(name), "mt_half.%d", mt_rank % 2);
	MPI_File_open(half, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
		      MPI_INFO_NULL, &own);
	MPI_File_open(MPI_COMM_WORLD, "mt_all", MPI_MODE_CREATE | MPI_MODE_RDWR |
		      MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < 64; i++)
			out[i] = mt_rank * 1000 + round * 64 + i;
		MPI_File_iwrite_at(file, (mt_rank * 6 + round) * 256, out, 64, MPI_INT, &write);
		mt_value(round);
		MPI_Wait(&write, &status);
		MPI_Get_count(&status, MPI_INT, &n);
		CHECK(n == 64);
		MPI_File_write_at(own, mt_rank / 2 * 256, out, 64, MPI_INT, MPI_STATUS_IGNORE);
		MPI_File_sync(file);
		MPI_Barrier(MPI_COMM_WORLD);
		memset(in, 0, sizeof(in));
		MPI_File_iread_at(file, (LEFT * 6 + round) * 256, in, 64, MPI_INT, &read);
		mt_value(round);
		MPI_Wait(&read, &status);
		CHECK(in[63] == LEFT * 1000 + round * 64 + 63);
		MPI_File_iread(own, in, 1, MPI_INT, &read);
		MPI_Wait(&read, MPI_STATUS_IGNORE);
		MPI_File_seek(own, 0, MPI_SEEK_SET);
		/* another member's, who may be one round further */
		CHECK(in[0] % 1000 / 64 <= round + 1);
	}
	MPI_File_close(&file);
	MPI_File_close(&own);
	MPI_Comm_free(&half);
	return mt_end();
}
