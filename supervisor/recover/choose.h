/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The choice of what to recover from: a generation, and a level for each of its groups.
 *
 * A group is the part of a generation that is restored as a whole: the image of one node. For each
 * group of each generation a bitmask says which levels work; bit 0 is the cheapest level. The
 * answer is the newest generation of which every group has some working level, and for each group
 * its cheapest one. Levels need not nest: a group that lacks L2 may have L1 and L3, and no group
 * depends on the level of another one.
 *
 * Pure: no I/O, no clock, no allocation. topology.h makes the bitmasks.
 */
#ifndef STILLPOINT_CHOOSE_H
#define STILLPOINT_CHOOSE_H

#include <stdint.h>

/**
 * struct choose_row - one generation of the table
 * @number: its number; a newer generation has a higher one
 * @nr_groups: 0: the generation cannot be used
 * @working: [@nr_groups], bit n: level n gives the group; stays the caller's
 */
struct choose_row {
	int64_t number;
	unsigned int nr_groups;
	const unsigned int *working;
};

/**
 * choose_generation() - choose a generation
 * @table: [@nr] generations, in any order
 *
 * Return: the index in @table of the newest generation that every group can provide; -ENODATA:
 * there is none
 */
int choose_generation(const struct choose_row *table, unsigned int nr);

/* The cheapest level of a bitmask; -1: no level works. */
int choose_level(unsigned int working);

#endif /* STILLPOINT_CHOOSE_H */
