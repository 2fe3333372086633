/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that have messages under way, or calls half done, most of the time: a checkpoint that
 * comes every few milliseconds meets each of their states. They work without any, too.
 */
#ifndef TESTS_MPI_CUT_H
#define TESTS_MPI_CUT_H

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../programs/mt.h"

#define ROUNDS_MAX	150
#define AWAIT_S	90
#define CUT_TAG	32000
#define ROUNDS	cut_rounds()
#define LEFT	((mt_rank + mt_size - 1) % mt_size)

/* Fewer with CUT_ROUNDS: ranks that wait for each other on few processors are slow. */
static inline int cut_rounds(void)
{
	const char *rounds = getenv("CUT_ROUNDS");

	return rounds && atoi(rounds) < ROUNDS_MAX ? atoi(rounds) : ROUNDS_MAX;
}

/* How many there were: tests/mpi/quiesce tells, in the file "cuts" beside the status pages. */
static inline volatile unsigned long *cut_counter(void)
{
	const char *page = getenv("CKPT_STATUS");
	char path[4096], own[4096];
	void *map;
	int fd;

	if (!page)
		return NULL;
	snprintf(own, sizeof(own), "%s", page);
	snprintf(path, sizeof(path), "%s/cuts", dirname(own));
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return NULL;
	map = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* Outside MPI until the job was cut @n times; at once without cuts. @turn: for people */
static inline void cut_await(unsigned long n, int turn)
{
	static volatile unsigned long *cuts;
	unsigned long before;

	if (!cuts)
		cuts = cut_counter();
	if (!cuts)
		return;
	usleep(2000);
	before = *cuts;
	for (long i = 0; *cuts < before + n; i++) {
		usleep(1000);
		if (i > AWAIT_S * 1000) {
			fprintf(stderr, "rank %d: no cut while others wait, turn %d\n", mt_rank,
				turn);
			MPI_Abort(MPI_COMM_WORLD, 9);
		}
	}
}

/*
 * All go on after @n cuts. Rank 0 alone counts them: another one may begin to count before a
 * cut and it after, and there is none while some wait for it in a collective. For a message
 * they may wait.
 */
static inline void cut_await_all(unsigned long n, int turn)
{
	if (mt_rank) {
		MPI_Recv(NULL, 0, MPI_BYTE, 0, CUT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	cut_await(n, turn);
	for (int to = 1; to < mt_size; to++)
		MPI_Send(NULL, 0, MPI_BYTE, to, CUT_TAG, MPI_COMM_WORLD);
}

/* Outside MPI, and different from rank to rank. */
static inline void cut_compute(int round)
{
	usleep(1000 + (unsigned int)((round * 7 + mt_rank * 13) % 5) * 1000);
}

#endif
