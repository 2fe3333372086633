/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verdict on a job, from what its ranks say (match.h) and what the kernel saw of them.
 *
 * A hang is confirmed only if both agree: the pages show that ranks wait for a suspect, and the
 * samples show that the suspect cannot go on, or has not left its place for as long as the others
 * have waited, at least the patience. Else the answer is not known, and nothing may act on it.
 * Pure: no I/O, no clock.
 */
#ifndef STILLPOINT_DIAGNOSE_VERDICT_H
#define STILLPOINT_DIAGNOSE_VERDICT_H

#include "supervisor/diagnose/match.h"

enum verdict_kind {
	VERDICT_RUNS,		/* nobody waits, or what is waited for makes progress */
	VERDICT_HANGS,		/* confirmed by both */
	VERDICT_UNKNOWN,	/* no progress was seen, and the cause is not confirmed */
};

enum verdict_cause {
	CAUSE_NONE,
	CAUSE_STOPPED,		/* by a signal */
	CAUSE_TRACED,		/* a debugger holds it */
	CAUSE_DISK,		/* D state: waits for a device or a file system */
	CAUSE_LOOPS,		/* runs, outside the library, and stays in one function */
	CAUSE_SLEEPS,		/* sleeps, outside the library */
	CAUSE_LIBRARY,		/* in an MPI call that waits for nobody that is known */
	CAUSE_ENDED,		/* the process is gone */
	CAUSE_FINALIZED,	/* it is in MPI_Finalize, or past it */
	CAUSE_DIFFER,		/* other calls than the others', on one communicator */
	CAUSE_CIRCLE,		/* ranks wait for each other */
	CAUSE_ARRIVED,		/* all are in the call: a message is lost, or the library hangs */
	CAUSE_SILENT,		/* its node does not answer */
	CAUSE_EARLY,		/* not waited for long enough to tell from work */
	CAUSE_UNSEEN,		/* there are no samples that tell */
	CAUSE_ONCE,		/* seen once, in an image: that does not tell it from work */
	CAUSE_HELD,		/* a checkpoint is under way: the wait is expected */
};

struct verdict {
	enum verdict_kind kind;
	enum verdict_cause cause;	/* of the suspect @index */
	unsigned int index;		/* into match->suspects; 0 if there are none */
	bool by_pages, by_samples;	/* which of the two say that it hangs */
};

/* The cause of one suspect, and whether samples confirm it. */
enum verdict_cause verdict_suspect(const struct fact_rank *rank, uint64_t waited_ms,
				   uint64_t patience_ms, bool *ret_confirmed);
void verdict_make(const struct fact_rank *ranks, unsigned int nr, const struct match *match,
		  uint64_t patience_ms, struct verdict *ret_verdict);
/* "stopped", "loops", ...: a word for programs. */
const char *verdict_cause_name(enum verdict_cause cause);
const char *verdict_kind_name(enum verdict_kind kind);

#endif /* STILLPOINT_DIAGNOSE_VERDICT_H */
