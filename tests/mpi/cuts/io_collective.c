// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collective reads and writes of two files, several of each under way while ranks compute. The
 * library makes progress of them only while it tests them, by collectives of its own.
 */
#include "cut.h"

#define BLOCKS	6
#define INTS	2048

static int out[BLOCKS][INTS], in[BLOCKS][INTS];

static MPI_File open_file(const char *name, const char *aggregate)
{
	MPI_File file;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", aggregate);
	MPI_Info_set(info, "romio_cb_read", aggregate);
	MPI_File_open(MPI_COMM_WORLD, name,
		      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file);
	MPI_Info_free(&info);
	return file;
}

/* Ranks' blocks lie between each other. */
static MPI_Offset place(int block, int rank)
{
	return (MPI_Offset)(block * mt_size + rank) * INTS * (MPI_Offset)sizeof(int);
}

static int value(int round, int block, int rank, int i)
{
	return round * 1000000 + block * 100000 + rank * 10000 + i;
}

static void write_all(MPI_File *file, int round)
{
	MPI_Request request[BLOCKS + 2];
	MPI_Status status[BLOCKS + 2];
	int token = round, got = -1, n;

	for (int b = 0; b < BLOCKS; b++) {
		for (int i = 0; i < INTS; i++)
			out[b][i] = value(round, b, mt_rank, i);
		MPI_File_iwrite_at_all(file[b % 2], place(b, mt_rank), out[b], INTS, MPI_INT,
				       &request[b]);
	}
	MPI_Irecv(&got, 1, MPI_INT, LEFT, 1, MPI_COMM_WORLD, &request[BLOCKS]);
	cut_compute(round);
	MPI_Isend(&token, 1, MPI_INT, RIGHT, 1, MPI_COMM_WORLD, &request[BLOCKS + 1]);
	MPI_Waitall(BLOCKS + 2, request, status);
	CHECK(got == round);
	for (int b = 0; b < BLOCKS; b++) {
		MPI_Get_count(&status[b], MPI_INT, &n);
		CHECK(n == INTS && request[b] == MPI_REQUEST_NULL);
	}
}

static void read_all(MPI_File *file, int round)
{
	MPI_Request request[BLOCKS];
	MPI_Status status;
	int n, bad = 0;

	memset(in, 0, sizeof(in));
	for (int b = 0; b < BLOCKS; b++)
		MPI_File_iread_at_all(file[b % 2], place(b, LEFT), in[b], INTS, MPI_INT,
				      &request[b]);
	cut_compute(round + 1);
	for (int b = 0; b < BLOCKS; b++) {
		MPI_Wait(&request[b], &status);
		MPI_Get_count(&status, MPI_INT, &n);
		CHECK(n == INTS);
	}
	for (int b = 0; b < BLOCKS; b++)
		for (int i = 0; i < INTS; i++)
			bad += in[b][i] != value(round, b, LEFT, i);
	CHECK(!bad);
	mt_value(in[BLOCKS - 1][INTS - 1]);
}

int main(int argc, char **argv)
{
	MPI_File file[2];

	mt_begin(&argc, &argv);
	file[0] = open_file("cut_io.0", "enable");
	file[1] = open_file("cut_io.1", "automatic");
	for (int round = 0; round < ROUNDS; round++) {
		write_all(file, round);
		for (int f = 0; f < 2; f++)
			MPI_File_sync(file[f]);
		MPI_Barrier(MPI_COMM_WORLD);
		read_all(file, round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	for (int f = 0; f < 2; f++)
		MPI_File_close(&file[f]);
	return mt_end();
}
