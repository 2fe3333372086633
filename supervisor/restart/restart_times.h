/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a restart takes: in total, from the request until the job runs, and in each of its
 * phases, which follow one another. Times are CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef STILLPOINT_RESTART_TIMES_H
#define STILLPOINT_RESTART_TIMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum restart_phase {
	RESTART_FETCH,		/* images are fetched: from levels, from other nodes */
	RESTART_TRY,		/* job over several nodes: a dry run on all of them */
	RESTART_RESTORE,	/* the images of this node are restored */
	RESTART_RANKS,		/* until all ranks run: library, rebuild, other nodes' images */
	RESTART_PHASES
};

struct restart_times {
	uint64_t asked;		/* when the request came */
	uint64_t begun;		/* when the present phase began */
	uint64_t phase[RESTART_PHASES];	/* duration, summed over all attempts */
	bool had[RESTART_PHASES];	/* the phase took place */
};

void restart_times_begin(struct restart_times *times, uint64_t now);
void restart_times_end(struct restart_times *times, enum restart_phase phase, uint64_t now);

/*
 * restart_times_put() - write the times of a restart whose job runs into @result
 *
 * Sets "total_ns", and for each phase that took place "fetch_ns", "try_ns", "restore_ns",
 * "ranks_ns". The phases' sum is less than the total, which includes the waits between phases
 * and failed attempts.
 */
void restart_times_put(const struct restart_times *times, uint64_t now, json_t *result);

#endif /* STILLPOINT_RESTART_TIMES_H */
