// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice of a generation and of levels; see choose.h.
 *
 * Owns the rule alone. "The maximum of each group's cheapest level" is another rule, and a wrong
 * one: it gives all groups one level, which a group with a cheaper level need not have.
 */
#include "supervisor/recover/choose.h"

#include <errno.h>
#include <stdbool.h>

static bool choose_is_whole(const struct choose_row *generation)
{
	unsigned int i;

	for (i = 0; i < generation->nr_groups; i++) {
		if (!generation->working[i])
			return false;
	}
	return generation->nr_groups;
}

int choose_generation(const struct choose_row *table, unsigned int nr)
{
	int chosen = -ENODATA;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (choose_is_whole(&table[i]) &&
		    (chosen < 0 || table[i].number > table[chosen].number))
			chosen = (int)i;
	}
	return chosen;
}

int choose_level(unsigned int working)
{
	return working ? __builtin_ctz(working) : -1;
}
