// SPDX-License-Identifier: GPL-2.0-only
/* MPI_Wtime never goes backwards; names of processor, library, version stay sound. */
#include "mt.h"

int main(int argc, char **argv)
{
	char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
	double last, now, global;
	int version, sub, length, flag;

	mt_begin(&argc, &argv);
	last = MPI_Wtime();
	for (int round = 0; round < 30; round++) {
		now = MPI_Wtime();
		CHECK(now >= last && now - last < 3600);
		last = now;
		MPI_Get_processor_name(name, &length);
		CHECK(length > 0 && (size_t)length == strlen(name));
		MPI_Get_version(&version, &sub);
		CHECK(version == 3 || version == 4);
		MPI_Get_library_version(library, &length);
		CHECK(length > 0);
		MPI_Initialized(&flag);
		CHECK(flag);
		MPI_Finalized(&flag);
		CHECK(!flag);
		CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1);
		/* what one rank sent before, no rank's clock may undo after */
		MPI_Allreduce(&now, &global, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		CHECK(global >= now);
	}
	return mt_end();
}
