/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The facts on each rank of a job, from two sources that do not know each other: the
 * rank's status page, by which the MPI library says what it does, and samples of its threads,
 * which the kernel takes. Plain data; filter.h, match.h and verdict.h decide from it alone.
 */
#ifndef STILLPOINT_DIAGNOSE_FACTS_H
#define STILLPOINT_DIAGNOSE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#define FACT_NONE	UINT32_MAX	/* no peer, or any */

enum fact_life {
	FACT_ALIVE,
	FACT_BEFORE,		/* MPI_Init has not returned */
	FACT_FINALIZED,		/* MPI_Finalize was called */
	FACT_ENDED,		/* its process has ended */
	FACT_SILENT,		/* its node does not answer: nothing is known */
};

/* From the page: where the thread of the rank is that says most. */
enum fact_doing {
	FACT_OUTSIDE,		/* in no MPI call */
	FACT_INSIDE,		/* in a call of which no more is known */
	FACT_COLLECTIVE,	/* number @seq on @comm */
	FACT_RECEIVES,		/* waits for @peer, tag @tag */
	FACT_SENDS,		/* waits until @peer receives */
	FACT_ONE_SIDED,		/* waits for @peer */
};

struct fact_comm {
	uint64_t id;
	uint64_t seq;		/* collectives begun */
};

/**
 * struct fact_rank - one rank
 * @call: number of the call it is in; 0: none. Equal numbers are equal calls.
 * @since_ms: how long it has waited; 0: not known
 * @moved: it began a call between two readings of its page
 * @held: it stands still for a checkpoint
 * @begun: @nr_begun communicators, ascending by id
 * @samples: how many were taken of that thread; 0: the fields below are not known
 * @state: its state in all samples, a letter of /proc/PID/stat; 0: it changed
 * @steady: it was in the same canonical place in all samples (filter.h)
 * @placed: a program counter is known; without the kernel module not that of a thread that runs
 * @in_library: it was in the MPI library, or in the kernel for it, in all samples
 * @busy: it ran for most of the time between the samples
 */
struct fact_rank {
	uint32_t rank;
	enum fact_life life;
	enum fact_doing doing;
	uint32_t call;
	uint32_t peer;
	int32_t tag;
	uint64_t comm;
	uint64_t seq;
	uint64_t since_ms;
	bool moved;
	bool held;
	struct fact_comm *begun;
	unsigned int nr_begun;
	unsigned int samples;
	char state;
	bool steady;
	bool placed;
	bool in_library;
	bool busy;
};

/*
 * True if the rank does not go on in its call for a reason of its own, as samples show: it was
 * stopped, waits for a device, or is in code of the program that the library calls.
 */
static inline bool fact_is_kept(const struct fact_rank *rank)
{
	return rank->samples && (rank->state == 'T' || rank->state == 't' || rank->state == 'D' ||
				 (rank->placed && rank->steady && !rank->in_library));
}

/* True if the rank waits for others, in a call that it began before the first reading. */
static inline bool fact_is_blocked(const struct fact_rank *rank)
{
	return rank->life == FACT_ALIVE && !rank->moved && rank->doing >= FACT_COLLECTIVE &&
	       !fact_is_kept(rank);
}

#endif /* STILLPOINT_DIAGNOSE_FACTS_H */
