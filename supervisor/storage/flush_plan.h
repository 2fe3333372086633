/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deciding which of a job's images are copied to which level, which copy is next, and what
 * may be removed from a level. Decisions only: no disk, no clock.
 * Bit i of a set of levels stands for levels->conf[i].
 */
#ifndef STILLPOINT_FLUSH_PLAN_H
#define STILLPOINT_FLUSH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/storage/level_config.h"

/* This node's image of one generation of a job. In a set of levels, bit i is levels->conf[i]. */
struct flush_item {
	int64_t job;
	int64_t generation;
	uint64_t taken_ns;	/* CLOCK_REALTIME; 0: not known */
	uint64_t bytes;
	bool source;		/* in L1, with an authentic manifest */
	bool pinned;
	unsigned int here;	/* levels that have it */
	/*
	 * levels with all nodes' images, so that the job can restart from it there; known
	 * only as far as flush_plan_look() had to ask
	 */
	unsigned int whole;
	/* levels that have our part of a generation whose number of nodes is not known here */
	unsigned int counts;
	unsigned int failed;	/* levels on which it must not be tried again */
	unsigned int wanted;	/* set by flush_plan_want() */
};

#define FLUSH_NONE	SIZE_MAX

struct flush_choice {
	size_t item;		/* FLUSH_NONE: there is nothing to do */
	unsigned int level_nr;
};

/* True if the generation is whole on that level. Reads the images there, of all nodes. */
typedef bool (*flush_whole_fn)(size_t item, unsigned int level_nr, void *arg);

/*
 * flush_plan_look() - ask which generations on a level are whole, as few as its rule needs
 * @items: of one job, ascending by generation
 * @due: true for flush_plan_want(), which takes images that are due as if they were there;
 *	false for flush_plan_goes(): then nothing is asked if nothing would go even with
 *	all whole
 *
 * Sets @items[].whole for that level. The later decision is the same as if all had been
 * asked.
 */
void flush_plan_look(const struct level_configs *levels, unsigned int level_nr,
		     struct flush_item *items, size_t nr, bool due, flush_whole_fn is_whole,
		     void *arg);

/*
 * flush_plan_want() - decide which images are to be on which level
 * @items: of one job, ascending by generation
 *
 * Nothing is wanted that retention would remove at once. Return: 0 or -ENOMEM.
 */
int flush_plan_want(const struct level_configs *levels, struct flush_item *items, size_t nr);

/*
 * flush_plan_next() - choose the next copy: the newest image that a level lacks, to the
 *	cheapest level
 * @items: of any number of jobs, each as flush_plan_want() left it
 * @usable: levels that may be used, as bits
 */
struct flush_choice flush_plan_next(const struct flush_item *items, size_t nr, unsigned int usable);

/*
 * flush_plan_goes() - decide what the level's rule removes from it
 * @items: of one job, ascending by generation
 * @ret_goes: [nr]
 *
 * Return: 0, or -ENOMEM, and then nothing goes.
 */
int flush_plan_goes(const struct level_configs *levels, unsigned int level_nr,
		    const struct flush_item *items, size_t nr, bool *ret_goes);

#endif /* STILLPOINT_FLUSH_PLAN_H */
