/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a restart takes: from the request until the job runs, and of that its phases, which come
 * one after the other. Times are of CLOCK_MONOTONIC, in nanoseconds.
 */
#ifndef STILLPOINT_RESTART_TIMES_H
#define STILLPOINT_RESTART_TIMES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum restart_phase {
	RESTART_FETCH,		/* making sure of images: from levels, from other nodes */
	RESTART_TRY,		/* of several nodes: dry, on all of them */
	RESTART_RESTORE,	/* the images of this node */
	RESTART_RANKS,		/* until all ranks run: library, rebuild, other nodes' images */
	RESTART_PHASES
};

struct restart_times {
	uint64_t asked;
	uint64_t begun;		/* the present phase */
	uint64_t phase[RESTART_PHASES];	/* of all attempts */
	bool had[RESTART_PHASES];
};

void restart_times_begin(struct restart_times *times, uint64_t now);
void restart_times_end(struct restart_times *times, enum restart_phase phase, uint64_t now);

/*
 * restart_times_put() - into @result, of a job that runs: "total_ns", and of phases that there
 * were "fetch_ns", "try_ns", "restore_ns", "ranks_ns"
 *
 * Their sum is less than the total, which has in it all waits between them, and what failed.
 */
void restart_times_put(const struct restart_times *times, uint64_t now, json_t *result);

#endif /* STILLPOINT_RESTART_TIMES_H */
