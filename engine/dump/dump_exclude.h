/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory whose contents a process does not want saved: what it wrote into its table
 * (libckptctl/exclude_table.h).
 */
#ifndef STILLPOINT_DUMP_EXCLUDE_H
#define STILLPOINT_DUMP_EXCLUDE_H

#include <stdbool.h>
#include <stdint.h>

#include "libckptctl/exclude_table.h"
#include "engine/dump/dump_run.h"

struct dump_exclude {
	struct exclude_range *range;	/* ascending, apart from each other; malloc */
	unsigned int nr;
	unsigned int at;		/* where the last question was answered */
};

/*
 * dump_exclude_find() - of one memory map; most have no table, and nr is 0
 * @flags: CKPT_PAGES_LIVE or 0, as its pages are read
 *
 * 0, or -ENOMEM.  What is no good table is none: then all is saved.
 */
int dump_exclude_find(struct dump *d, const struct state_mm *mm, unsigned int flags,
		       struct dump_exclude *ret_excluded);
void dump_exclude_done(struct dump_exclude *excluded);

/*
 * dump_exclude_cut() - is the page at @addr unwanted?
 * @stop: end of what is asked for; becomes the end of the pages that the answer holds for
 *
 * Addresses ascend from question to question.
 */
bool dump_exclude_cut(struct dump_exclude *excluded, uint64_t addr, uint64_t *stop);

#endif /* STILLPOINT_DUMP_EXCLUDE_H */
