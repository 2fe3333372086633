/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a job that has died is restarted by itself, and from which generation.
 *
 * Pure: no I/O, no clock. A job that made a checkpoint since its last recovery has got on, and its
 * next death is a first one again. A job that did not has died at the same place: the second death
 * there goes back one generation, as the newest one may hold what kills the job, and the third one
 * is for a person. So there is never a loop, whatever the job does.
 */
#ifndef STILLPOINT_RECOVER_POLICY_H
#define STILLPOINT_RECOVER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECOVER_RECENT_MAX	100	/* most recoveries that can be allowed */

/**
 * struct recover_rules - how often a job is recovered
 * @max: recoveries within @within_ms, at most RECOVER_RECENT_MAX; 0: none at all
 * @within_ms: milliseconds
 */
struct recover_rules {
	unsigned int max;
	int64_t within_ms;
};

/**
 * struct recover_death - how a job ended
 * @at_ms: when, by any clock that does not jump; milliseconds
 * @lost: its processes or its node went away without a status
 * @asked: somebody asked for the end: a signal that was sent through Stillpoint
 * @exit_status: as of a shell; 128 + N: signal N. Only if the job was not lost
 * @generations: ascending, those that a restart may use; the caller's
 * @nr: of @generations
 */
struct recover_death {
	int64_t at_ms;
	bool lost;
	bool asked;
	int exit_status;
	const int64_t *generations;
	size_t nr;
};

/* The recoveries of a job so far; {} at first. */
struct recover_past {
	int64_t newest;		/* newest generation at the last death; 0: there was none */
	int64_t from;		/* generation of the last recovery */
	unsigned int here;	/* deaths without a newer generation */
	int64_t recent[RECOVER_RECENT_MAX];	/* times of recoveries, oldest first */
	unsigned int nr_recent;
};

/**
 * recover_is_failure() - true if the job did not end as it or a person wanted
 *
 * A loss is one, and a signal that a program gets by an error or from the kernel (SIGKILL, SIGSEGV,
 * SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS). An exit with a status is the program's own
 * decision; SIGTERM, SIGINT, SIGHUP and the like are somebody's.
 */
bool recover_is_failure(const struct recover_death *death);

/**
 * recover_choose() - decide about a failure, and note the decision in @past
 * @ret_why: if there is no recovery: the reason, a text that lives for ever
 *
 * Return: the generation to restart from; 0: do not recover
 */
int64_t recover_choose(struct recover_past *past, const struct recover_rules *rules,
		       const struct recover_death *death, const char **ret_why);

/* The newest of @generations (ascending) below @limit; 0: none. */
int64_t recover_before(const int64_t *generations, size_t nr, int64_t limit);

#endif /* STILLPOINT_RECOVER_POLICY_H */
