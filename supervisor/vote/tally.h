/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The count of a vote: pages of two or three replicas, compared by whoever reads them. Decisions
 * only.
 *
 * Verified: all pages of all members are equal. Repaired: of three members two are equal in all
 * pages, and the third, the minority, differs in some. Rejected: anything else; so are two members
 * that differ, and three of which two differ, even in different pages: no two are equal then, and
 * what they have computed since cannot be trusted. Unsure: members differ, and may do so without an
 * error, as they have made choices (a message from any source) that each may make otherwise.
 */
#ifndef STILLPOINT_VOTE_TALLY_H
#define STILLPOINT_VOTE_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define TALLY_MEMBERS	3

enum tally_outcome { TALLY_VERIFIED, TALLY_REPAIRED, TALLY_REJECTED, TALLY_UNSURE };

struct tally {
	unsigned int nr;		/* members, 2 or 3 */
	uint64_t pages;			/* that were compared */
	uint64_t differ;		/* of these, that are not equal in all members */
	uint64_t against[TALLY_MEMBERS];	/* pages in which this member alone differs */
	uint64_t none;			/* pages without two that are equal */
	uint32_t choices;		/* enum own_choice, of any member */
};

/* Returned by tally_page() for a page that has no minority. */
#define TALLY_EQUAL	(-1)
#define TALLY_NONE	(-2)

/*
 * tally_page() - count one page
 * @kinds: one number for each member; equal numbers stand for equal contents
 *
 * Return: the member that differs from the two others, TALLY_EQUAL or TALLY_NONE.
 */
int tally_page(struct tally *tally, const unsigned int kinds[TALLY_MEMBERS]);

/* @ret_minority: of TALLY_REPAIRED */
enum tally_outcome tally_decide(const struct tally *tally, unsigned int *ret_minority);
const char *tally_name(enum tally_outcome outcome);

#endif /* STILLPOINT_VOTE_TALLY_H */
