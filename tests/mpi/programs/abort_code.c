// SPDX-License-Identifier: GPL-2.0-only
/* MPI_Abort ends the job with its code. */
#include "mt.h"

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!mt_rank) {
		printf("about to abort\n");
		fflush(stdout);
		MPI_Abort(MPI_COMM_WORLD, 17);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return mt_end();
}
