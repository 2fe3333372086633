/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that have messages under way, or calls half done, most of the time: a checkpoint that
 * comes every few milliseconds meets each of their states. They work without any, too.
 */
#ifndef TESTS_MPI_CUT_H
#define TESTS_MPI_CUT_H

#include <stdlib.h>
#include <unistd.h>

#include "../programs/mt.h"

#define ROUNDS_MAX	150
#define ROUNDS	cut_rounds()
#define LEFT	((mt_rank + mt_size - 1) % mt_size)

/* Fewer with CUT_ROUNDS: ranks that wait for each other on few processors are slow. */
static inline int cut_rounds(void)
{
	const char *rounds = getenv("CUT_ROUNDS");

	return rounds && atoi(rounds) < ROUNDS_MAX ? atoi(rounds) : ROUNDS_MAX;
}

/* Outside MPI, and different from rank to rank. */
static inline void cut_compute(int round)
{
	usleep(1000 + (unsigned int)((round * 7 + mt_rank * 13) % 5) * 1000);
}

#endif
