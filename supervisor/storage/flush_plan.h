/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of a job's images is to be copied to which level, what next, and what may go from a
 * level.  Decisions and nothing else: no disk, no clock.
 */
#ifndef STILLPOINT_FLUSH_PLAN_H
#define STILLPOINT_FLUSH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/storage/level_config.h"

/* This node's image of one generation of a job.  Of levels: bit i is that of levels->conf[i]. */
struct flush_item {
	int64_t job;
	int64_t generation;
	uint64_t taken_ns;	/* CLOCK_REALTIME; 0: not known */
	uint64_t bytes;
	bool source;		/* in L1, its manifest authentic */
	bool pinned;
	unsigned int here;	/* levels that have it */
	unsigned int whole;	/* levels from which a job could be restarted by it, as far as flush_plan_look() */
				/* had to know: all nodes' are there */
	unsigned int counts;	/* levels that have our part, and nobody here knows of how many nodes it is */
	unsigned int failed;	/* levels it is not to be tried on again */
	unsigned int wanted;	/* set by flush_plan_want() */
};

#define FLUSH_NONE	SIZE_MAX

struct flush_choice {
	size_t item;		/* FLUSH_NONE: there is nothing to do */
	unsigned int level_nr;
};

/* Is it whole on that level?  Reads the images there, of all nodes. */
typedef bool (*flush_whole_fn)(size_t item, unsigned int level_nr, void *arg);

/*
 * flush_plan_look() - ask which of a level's are whole, of as few as its rule goes by
 * @items: of one job, ascending by generation
 * @due: for flush_plan_want(), which takes what is due as if it were there; else for flush_plan_goes(): then none
 *	is asked of if nothing would go even if all were whole
 *
 * Sets @items[].whole for that level.  What is decided is what would be if all had been asked of.
 */
void flush_plan_look(const struct level_configs *levels, unsigned int level_nr, struct flush_item *items, size_t nr,
		  bool due, flush_whole_fn is_whole, void *arg);

/*
 * flush_plan_want() - which are to be on which level
 * @items: of one job, ascending by generation
 *
 * Nothing is wanted that retention would have removed at once.  0 or -ENOMEM.
 */
int flush_plan_want(const struct level_configs *levels, struct flush_item *items, size_t nr);

/*
 * flush_plan_next() - the next copy: of the newest image that is missing somewhere, on the
 *	cheapest level
 * @items: of any number of jobs, each as flush_plan_want() left it
 * @usable: levels
 */
struct flush_choice flush_plan_next(const struct flush_item *items, size_t nr, unsigned int usable);

/*
 * flush_plan_goes() - what may be removed from a level by its rule
 * @items: of one job, ascending by generation
 * @ret_goes: [nr]
 *
 * 0 or -ENOMEM, and then nothing goes.
 */
int flush_plan_goes(const struct level_configs *levels, unsigned int level_nr, const struct flush_item *items,
		 size_t nr, bool *ret_goes);

#endif /* STILLPOINT_FLUSH_PLAN_H */
