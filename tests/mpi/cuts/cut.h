/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that have messages under way, or calls half done, most of the time: a checkpoint that
 * comes every few milliseconds meets each of their states. They work without any, too.
 */
#ifndef TESTS_MPI_CUT_H
#define TESTS_MPI_CUT_H

#include <unistd.h>

#include "../programs/mt.h"

#define ROUNDS	150
#define LEFT	((mt_rank + mt_size - 1) % mt_size)

/* Outside MPI, and different from rank to rank. */
static inline void cut_compute(int round)
{
	usleep(1000 + (unsigned int)((round * 7 + mt_rank * 13) % 5) * 1000);
}

#endif
