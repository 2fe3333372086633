/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scrub: does memory that nobody has written still hold what the base of this image has?
 *
 * A page that the kernel calls clean and that differs from the base was changed by nobody: a bit
 * has flipped, or the tracking of writes is wrong. With every = N one N-th of the memory is
 * looked at, by stretches of 1 MiB, and the next generation looks at the next stretches: N
 * generations in a row look at all. A page that was passed over is still compared with its last
 * written content when its turn comes.
 */
#ifndef STILLPOINT_DUMP_SCRUB_H
#define STILLPOINT_DUMP_SCRUB_H

#include "engine/dump/dump_run.h"

#define DUMP_SCRUB_STRETCH	(1ULL << 20)

/*
 * dump_scrub_wants() - is the clean page at @addr to be read and compared?
 * @end: the end of what the caller has
 * @ret_stop: up to where, at most @end, the answer is the same
 */
bool dump_scrub_wants(const struct dump *d, uint64_t addr, uint64_t end, uint64_t *ret_stop);

/*
 * dump_scrub() - compare clean pages of a memory map with the base, as far as they are wanted
 * @base_mm: the number of the map in the base
 *
 * Pages that the base lacks are passed over. Findings go into the statistics of the dump; with
 * verify_base the first one fails the dump with -EUCLEAN. Other errors: the base cannot be read.
 */
int dump_scrub(struct dump *d, uint32_t mm_id, uint64_t base_mm, uint64_t addr, uint64_t len,
	       const char *data);

/* Put what was found into the manifest, unless nothing was looked at; before the commit. */
void dump_scrub_describe(const struct dump *d);

#endif /* STILLPOINT_DUMP_SCRUB_H */
