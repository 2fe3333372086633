/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the MPI test programs: count what is right, print one line from rank 0. A program works with
 * any number of ranks from 2 on, and its output depends on that number alone.
 */
#ifndef TESTS_MPI_MT_H
#define TESTS_MPI_MT_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../step.h"

static int mt_rank, mt_size, mt_checks, mt_bad;
static long mt_sum;

#define CHECK(what) mt_check(!!(what), #what, __FILE__, __LINE__)

static inline void mt_check(int good, const char *what, const char *file, int line)
{
	step();
	mt_checks++;
	if (good)
		return;
	mt_bad++;
	fprintf(stderr, "%s:%d: rank %d: not so: %s\n", file, line, mt_rank, what);
}

/* A value that belongs to the result; all ranks' are added. */
static inline void mt_value(long value)
{
	step();
	mt_sum += value;
}

/* The error class of what a call has returned. */
static inline int class_of(int code)
{
	int error_class;

	MPI_Error_class(code, &error_class);
	return error_class;
}

static inline void mt_begin(int *argc, char ***argv)
{
	/* MT_THREADS=multiple: asked for, though one thread calls */
	const char *threads = getenv("MT_THREADS");
	int provided;

	if (threads && !strcmp(threads, "multiple"))
		MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
}

static inline int mt_report(void)
{
	long mine[3] = { mt_checks, mt_bad, mt_sum }, all[3];

	MPI_Allreduce(mine, all, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!mt_rank)
		printf("%d ranks, %ld checks, %ld bad, sum %ld\n", mt_size, all[0], all[1], all[2]);
	fflush(stdout);
	return all[1] != 0;
}

static inline int mt_end(void)
{
	int rc = mt_report();

	step_last();
	MPI_Finalize();
	return rc;
}

#define RIGHT ((mt_rank + 1) % mt_size)
#define LEFT ((mt_rank + mt_size - 1) % mt_size)

#endif
