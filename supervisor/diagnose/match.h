/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Matching: who waits for whom, as the ranks' status pages tell.
 *
 * Ranks in a collective wait for the members of its communicator that have not begun it; a
 * receive waits for its sender, a send for its receiver. Whoever is waited for and waits for
 * nobody is a suspect. If all wait, there is a circle, two calls that do not match, or a rank that
 * waits for a message of anybody, which is then the suspect.
 * Pure: no I/O, no clock. Says nothing about time; verdict.h does.
 */
#ifndef STILLPOINT_DIAGNOSE_MATCH_H
#define STILLPOINT_DIAGNOSE_MATCH_H

#include "supervisor/diagnose/facts.h"

enum match_kind {
	MATCH_NOTHING,		/* nobody waits */
	MATCH_DIFFER,		/* different calls on one communicator; suspects: the fewer ranks */
	MATCH_MISSING,		/* suspects have not come; collective or message as below */
	MATCH_CIRCLE,		/* suspects wait for each other, in this order */
	MATCH_ARRIVED,		/* all have come, and none goes on */
	MATCH_UNKNOWN,		/* somebody waits, and it is not known for whom */
};

/**
 * struct match - the result
 * @suspects: indices into the ranks; @nr_suspects of them
 * @blocked: how many ranks wait
 * @comm, @seq, @call: the collective that suspects keep up; @seq 0: a message
 * @waiter: index of a rank that waits for the first suspect
 * @waited_ms: the longest wait for a suspect; 0: not known
 */
struct match {
	enum match_kind kind;
	unsigned int *suspects;
	unsigned int nr_suspects;
	unsigned int blocked;
	uint64_t comm;
	uint64_t seq;
	uint32_t call;
	unsigned int waiter;
	uint64_t waited_ms;
};

/* @ranks: ascending by rank, without gaps: ranks[r].rank is r. -ENOMEM. */
int match_ranks(const struct fact_rank *ranks, unsigned int nr, struct match *ret_match);
void match_done(struct match *match);

/* True if the rank has begun collective @seq of @comm; *@ret_member: it has the communicator. */
bool match_has_begun(const struct fact_rank *rank, uint64_t comm, uint64_t seq, bool *ret_member);

#endif /* STILLPOINT_DIAGNOSE_MATCH_H */
