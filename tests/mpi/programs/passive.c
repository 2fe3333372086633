// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank locks, reads and unlocks a window of a member that computes outside of MPI, and does not
 * wait for that member. This holds for Open MPI on one node; MPICH waits, with its own locks, too.
 */
#include <time.h>

#include "mt.h"

#define COMPUTING	3.0	/* s */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Compute from @from on; return when that ended. */
static double compute(double from)
{
	while (now() < from + COMPUTING)
		continue;
	return now();
}

static void read_often(MPI_Win win, int type, int target)
{
	double got;

	for (int i = 0; i < 10; i++) {
		got = 0;
		MPI_Win_lock(type, target, 0, win);
		MPI_Get(&got, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, win);
		MPI_Win_unlock(target, win);
		CHECK(got == target + 40);
	}
}

static void passive(MPI_Win win, double *memory)
{
	double began, ended = 0;

	memory[0] = mt_rank + 40;
	MPI_Barrier(MPI_COMM_WORLD);
	began = now();
	if (mt_rank) {
		ended = compute(began);
	} else if (mt_size > 1) {
		read_often(win, MPI_LOCK_SHARED, 1);
		read_often(win, MPI_LOCK_EXCLUSIVE, 1);
		MPI_Win_lock_all(0, win);
		MPI_Win_unlock_all(win);
		ended = now();
	}
	MPI_Bcast(mt_rank ? &began : &ended, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
#ifdef OPEN_MPI
	/* the same clock, as it is the same node: the reader came to its end first */
	CHECK(mt_rank != 1 || began < ended);
#endif
}

int main(int argc, char **argv)
{
	double memory[8], *given;
	MPI_Win win;

	mt_begin(&argc, &argv);
	MPI_Win_create(memory, sizeof(memory), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	passive(win, memory);
	MPI_Win_free(&win);
	MPI_Win_allocate(sizeof(memory), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &given,
			 &win);
	passive(win, given);
	MPI_Win_free(&win);
	return mt_end();
}
