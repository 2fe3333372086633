// SPDX-License-Identifier: GPL-2.0-only
/*
 * The count of a vote; see tally.h.
 *
 * Owns what a set of differing pages means. Must not read or change anything: compare.c reads
 * images, vote.c acts.
 */
#include "supervisor/vote/tally.h"

/* The member of three that differs from two equal ones; TALLY_NONE: no two are equal. */
static int tally_odd(const unsigned int kinds[TALLY_MEMBERS])
{
	if (kinds[1] == kinds[2])
		return 0;
	if (kinds[0] == kinds[2])
		return 1;
	return kinds[0] == kinds[1] ? 2 : TALLY_NONE;
}

int tally_page(struct tally *tally, const unsigned int kinds[TALLY_MEMBERS])
{
	int odd;

	tally->pages++;
	if (kinds[0] == kinds[1] && (tally->nr == 2 || kinds[0] == kinds[2]))
		return TALLY_EQUAL;
	tally->differ++;
	odd = tally->nr == 2 ? TALLY_NONE : tally_odd(kinds);
	if (odd == TALLY_NONE)
		tally->none++;
	else
		tally->against[odd]++;
	return odd;
}

enum tally_outcome tally_decide(const struct tally *tally, unsigned int *ret_minority)
{
	unsigned int i, wrong = 0, minority = 0;

	if (!tally->differ)
		return TALLY_VERIFIED;
	if (tally->choices)
		return TALLY_UNSURE;
	for (i = 0; i < tally->nr; i++) {
		if (!tally->against[i])
			continue;
		minority = i;
		wrong++;
	}
	if (tally->none || wrong != 1)
		return TALLY_REJECTED;
	*ret_minority = minority;
	return TALLY_REPAIRED;
}

const char *tally_name(enum tally_outcome outcome)
{
	static const char *const names[] = {
		[TALLY_VERIFIED] = "verified", [TALLY_REPAIRED] = "repaired",
		[TALLY_REJECTED] = "rejected", [TALLY_UNSURE] = "unsure",
	};

	return names[outcome];
}
