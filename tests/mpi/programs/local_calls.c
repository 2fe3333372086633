// SPDX-License-Identifier: GPL-2.0-only
/* What needs no library: versions, time, memory, names, before and after MPI. */
#include "mt.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	int version, sub, len, flag;
	char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME], host[256];
	double before, after;
	MPI_Aint at;
	void *memory;

	MPI_Initialized(&flag);
	CHECK(!flag);
	MPI_Finalized(&flag);
	CHECK(!flag);
	MPI_Get_version(&version, &sub);
	CHECK(version == MPI_VERSION && sub == MPI_SUBVERSION);
	MPI_Get_library_version(text, &len);
	CHECK(len > 0 && (strstr(text, "MPICH") || strstr(text, "Open MPI")));
	mt_begin(&argc, &argv);
	MPI_Initialized(&flag);
	CHECK(flag);
	before = MPI_Wtime();
	usleep(20000);
	after = MPI_Wtime();
	CHECK(after - before >= 0.02 && after - before < 5 && MPI_Wtick() < 0.01);
	MPI_Get_processor_name(name, &len);
	gethostname(host, sizeof(host));
	CHECK(!strcmp(name, host));
	MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory);
	memset(memory, 1, 100000);
	MPI_Get_address(memory, &at);
	CHECK((void *)at == memory && MPI_Aint_add(at, 5) == at + 5 && MPI_Aint_diff(at, at) == 0);
	MPI_Free_mem(memory);
	MPI_Query_thread(&flag);
	CHECK(flag >= MPI_THREAD_SINGLE);
	MPI_Type_size(MPI_DOUBLE, &flag);
	CHECK(flag == 8);
	MPI_Type_size(MPI_DOUBLE_INT, &flag);
	CHECK(flag == 12);
	for (int i = 0; i < 40; i++)
		step();
	step_last();
	flag = mt_report();
	MPI_Finalize();
	MPI_Finalized(&version);
	if (!mt_rank)
		printf("finalized %d\n", version);
	return flag;
}
