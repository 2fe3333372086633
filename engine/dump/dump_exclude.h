/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that a process excluded: the ranges in its table (libckptctl/exclude_table.h).
 * Their contents are not saved; the mappings are.  The process's memory is read from the
 * snapshot and is never trusted.
 */
#ifndef STILLPOINT_DUMP_EXCLUDE_H
#define STILLPOINT_DUMP_EXCLUDE_H

#include <stdbool.h>
#include <stdint.h>

#include "libckptctl/exclude_table.h"
#include "engine/dump/dump_run.h"

struct dump_exclude {
	struct exclude_range *range;	/* ascending, with gaps between them; malloc */
	unsigned int nr;
	unsigned int at;		/* range at which the last question ended */
};

/*
 * dump_exclude_find() - read the excluded ranges of one memory map
 * @flags: CKPT_PAGES_LIVE or 0, as the map's pages are read
 *
 * Most maps have no table; then nr is 0.  A malformed table counts as none, so that all is
 * saved.
 *
 * Return: 0, or -ENOMEM
 */
int dump_exclude_find(struct dump *d, const struct state_mm *mm, unsigned int flags,
		       struct dump_exclude *ret_excluded);
void dump_exclude_done(struct dump_exclude *excluded);

/*
 * dump_exclude_cut() - is the page at @addr excluded?
 * @stop: end of the pages in question; becomes the end of the pages with the same answer
 *
 * Addresses must ascend from call to call.
 */
bool dump_exclude_cut(struct dump_exclude *excluded, uint64_t addr, uint64_t *stop);

#endif /* STILLPOINT_DUMP_EXCLUDE_H */
