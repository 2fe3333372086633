// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI-IO over many steps: a view of a subarray, positions, atomicity, a file opened for
 * appending by each process alone, on a communicator that is freed then.
 */
#include "mt.h"

#define ROWS 8

int main(int argc, char **argv)
{
	int whole[2], part[2] = { ROWS, 4 }, start[2] = { 0, 0 },
		out[ROWS * 4], in[ROWS * 4], n, flag;
	MPI_Offset at, size;
	MPI_File file, log;
	MPI_Datatype view;
	MPI_Status status;
	MPI_Comm own;

	mt_begin(&argc, &argv);
	whole[0] = ROWS;
	whole[1] = 4 * mt_size;
	start[1] = 4 * mt_rank;
	MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_INT, &view);
	MPI_Type_commit(&view);
	MPI_File_open(MPI_COMM_WORLD, "mt_io_kept", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
		      &file);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank, 0, &own);
	MPI_File_open(own, mt_rank ? "mt_log.1" : "mt_log.0", MPI_MODE_CREATE | MPI_MODE_WRONLY |
		      MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &log);
	MPI_Comm_free(&own);
	MPI_File_set_atomicity(file, 1);
	MPI_File_set_view(file, 0, MPI_INT, view, "native", MPI_INFO_NULL);
	MPI_Type_free(&view);
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < ROWS * 4; i++)
			out[i] = round * 10000 + mt_rank * 100 + i;
		MPI_File_write_all(file, out, ROWS * 4, MPI_INT, &status);
		MPI_File_get_position(file, &at);
		CHECK(at == (round + 1) * ROWS * 4);
		MPI_File_write(log, out, 3, MPI_INT, &status);
		MPI_Get_count(&status, MPI_INT, &n);
		CHECK(n == 3);
		MPI_File_seek(file, -ROWS * 4, MPI_SEEK_CUR);
		mt_value(round);
		MPI_File_read_all(file, in, ROWS * 4, MPI_INT, &status);
		CHECK(!memcmp(in, out, sizeof(in)));
		MPI_File_get_atomicity(file, &flag);
		CHECK(flag);
		MPI_File_get_size(log, &size);
		CHECK(size == (round + 1) * 12);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	/* the first row of the last round, where my neighbour wrote */
	MPI_File_read_at(file, 5 * ROWS * 4 * mt_size + 4 * LEFT, in, 4, MPI_INT, &status);
	CHECK(in[0] == 50000 + LEFT * 100 && in[3] == in[0] + 3);
	mt_value(in[1]);
	MPI_File_close(&log);
	MPI_File_close(&file);
	if (!mt_rank)
		MPI_File_delete("mt_io_kept", MPI_INFO_NULL);
	return mt_end();
}
