// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file opened by a short name in a directory so deep that its absolute name is too long for
 * the library: Open MPI writes it into 256 bytes, MPICH gives it to the kernel. A restart opens
 * it from where the program is, which goes up by a directory and back; with LONG_AWAY=1 it goes
 * where that is not possible, and checkpoints are refused.
 */
#include "cut.h"

#include <sys/stat.h>

#ifdef OPEN_MPI
#define DEEP	3
#else
#define DEEP	42
#endif

static void go_deeper(int n)
{
	char name[101];

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; i < n; i++) {
		mkdir(name, 0700);
		CHECK(!chdir(name));
	}
}

int main(int argc, char **argv)
{
	const char *away = getenv("LONG_AWAY");
	int value;
	MPI_File file;

	mt_begin(&argc, &argv);
	/*
	 * of a directory whose name is longer than the kernel tells there are no real
	 * checkpoints
	 */
	go_deeper(getenv("MT_DIR") ? 3 : DEEP);
	CHECK(!MPI_File_open(MPI_COMM_WORLD, "cut_long", MPI_MODE_CREATE | MPI_MODE_RDWR,
			     MPI_INFO_NULL, &file));
	for (int round = 0; round < ROUNDS; round++) {
		value = round * 100 + mt_rank;
		CHECK(!MPI_File_write_at(file, 4 * mt_rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
		CHECK(!chdir(away ? "/" : ".."));
		cut_compute(round);
		value = -1;
		CHECK(!MPI_File_read_at(file, 4 * mt_rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
		CHECK(value == round * 100 + mt_rank);
		if (away)
			CHECK(!chdir("/"));	/* as many checks */
		else
			go_deeper(1);
		cut_compute(round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_File_close(&file);
	return mt_end();
}
