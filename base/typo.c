// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that are nearly right: the distance of two names, as Levenshtein defined it, and with two
 * neighbours exchanged as one step.
 *
 * How far a name may be off grows with the length of what was wanted: one letter of a short one,
 * three of a long one, so that no hint names something else. Nothing here allocates memory.
 */
#include "base/typo.h"

#include <stdio.h>
#include <string.h>

#define TYPO_MAX	40U	/* letters; a longer name is near to none */

static unsigned int typo_least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

static unsigned int typo_distance(const char *a, const char *b)
{
	unsigned int rows[3][TYPO_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t a_len = strlen(a), b_len = strlen(b);

	for (unsigned int k = 0; k <= b_len; k++)
		last[k] = k;
	for (unsigned int i = 1; i <= a_len; i++) {
		unsigned int *oldest = before;

		row[0] = i;
		for (unsigned int k = 1; k <= b_len; k++) {
			row[k] = typo_least(last[k] + 1, row[k - 1] + 1,
					    last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    before[k - 2] + 1 < row[k])
				row[k] = before[k - 2] + 1;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_len];
}

void typo_try(struct typo *typo, const char *name)
{
	size_t len = strlen(typo->wanted), most = len < 6 ? 1 : len < 12 ? 2 : 3;
	unsigned int distance;

	if (len < 2 || len > TYPO_MAX || strlen(name) > TYPO_MAX)
		return;
	distance = typo_distance(typo->wanted, name);
	if (distance > most || (typo->nearest && distance >= typo->distance))
		return;
	typo->nearest = name;
	typo->distance = distance;
}

const char *typo_hint(const struct typo *typo, char *buf, unsigned int size)
{
	buf[0] = 0;
	if (typo->nearest)
		snprintf(buf, size, " (did you mean %s?)", typo->nearest);
	return buf;
}
