// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that are started or joined at run time: what only the root has to know, commands,
 * counts and hints, is not even a handle on the others. Each child meets its parents in a
 * barrier. Not every launcher of MPICH's starts any; then the calls fail, on all ranks.
 */
#include "mt.h"

static void join(int rc, MPI_Comm children, int expected)
{
	int size;

#ifdef OPEN_MPI
	CHECK(!rc);
#endif
	if (rc)
		return;
	MPI_Comm_remote_size(children, &size);
	CHECK(size == expected);
	MPI_Barrier(children);
	MPI_Comm_disconnect(&children);
}

static void started(char *program)
{
	char *commands[2] = { program, program };
	int most[2] = { 1, 1 }, rc;
	MPI_Info info[2] = { MPI_INFO_NULL, MPI_INFO_NULL }, none = MPI_INFO_NULL;
	MPI_Comm children;

	if (mt_rank)
		memset(&none, 0x11, sizeof(none));
	rc = MPI_Comm_spawn(mt_rank ? NULL : program, MPI_ARGV_NULL, 1, none, 0, MPI_COMM_WORLD,
			    &children, MPI_ERRCODES_IGNORE);
	join(rc, children, 1);
	if (mt_rank)
		rc = MPI_Comm_spawn_multiple(1000, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD,
					     &children, MPI_ERRCODES_IGNORE);
	else
		rc = MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, most, info, 0,
					     MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
	join(rc, children, 2);
}

int main(int argc, char **argv)
{
	MPI_Comm parent;

	mt_begin(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		MPI_Barrier(parent);
		MPI_Comm_disconnect(&parent);
		MPI_Finalize();
		return 0;
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	started(argv[0]);
	return mt_end();
}
