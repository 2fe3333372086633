// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file's shared pointer over cuts: moved by all ranks or by one alone, by collectives and set
 * back; with a view whose units are integers, and in a file to which was appended before
 * anybody used it.
 */
#include "cut.h"

#define MODE	(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE)

static MPI_File open_file(const char *name, int mode)
{
	MPI_File file;

	CHECK(!MPI_File_open(MPI_COMM_WORLD, name, MODE | mode, MPI_INFO_NULL, &file));
	return file;
}

static void at(MPI_File file, MPI_Offset want)
{
	MPI_Offset is = -1;

	MPI_File_get_position_shared(file, &is);
	CHECK(is == want);
}

/* One rank's alone, which others may never have moved. */
static void write_alone(MPI_File file, int round)
{
	int value = 100 + round;

	if (mt_rank == mt_size - 1)
		MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static void write_all(MPI_File file, int round)
{
	int value[2] = { mt_rank * 1000 + round, -round };

	MPI_File_write_ordered(file, value, 2, MPI_INT, MPI_STATUS_IGNORE);
}

/* Somebody has read each of the integers, nobody one twice. */
static void read_shared(MPI_File file, int n)
{
	int value, mine = 0, all;

	for (int i = 0; i < n; i++) {
		MPI_File_read_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
		mine += value;
	}
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	mt_value(mt_rank ? 0 : all);
}

int main(int argc, char **argv)
{
	MPI_File units, alone, appended;
	int value[2] = { 7, 8 }, back[2];

	mt_begin(&argc, &argv);
	units = open_file("cut_shared_units", 0);
	MPI_File_set_view(units, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	alone = open_file("cut_shared_alone", 0);
	appended = open_file("cut_shared_appended", MPI_MODE_APPEND);
	if (!mt_rank)
		MPI_File_write(appended, value, 2, MPI_INT, MPI_STATUS_IGNORE);
	for (int round = 0; round < 3; round++) {
		write_all(units, round);
		write_alone(alone, round);
		cut_await_all(1, round);
		MPI_Barrier(MPI_COMM_WORLD);
		at(units, 2 * mt_size * (round + 1));
		at(appended, 0);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_File_seek_shared(units, 2, MPI_SEEK_SET);
	cut_await_all(1, 3);
	MPI_Barrier(MPI_COMM_WORLD);
	read_shared(units, 2);
	cut_await_all(1, 4);
	read_shared(units, 2);
	MPI_Barrier(MPI_COMM_WORLD);
	at(units, 2 + 4 * mt_size);
	at(alone, 12);
	MPI_File_read_at(alone, 8, back, 1, MPI_INT, MPI_STATUS_IGNORE);
	CHECK(back[0] == 102);
	MPI_File_close(&units);
	MPI_File_close(&alone);
	MPI_File_close(&appended);
	return mt_end();
}
