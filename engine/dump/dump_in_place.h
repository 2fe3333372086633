/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that the tree can write in place, also those that several nodes write: the steps of a
 * dump, in their order. Between dump*.c only.
 */
#ifndef STILLPOINT_DUMP_IN_PLACE_H
#define STILLPOINT_DUMP_IN_PLACE_H

#include "engine/dump/dump_run.h"

/*
 * Decide which files are kept and which are watched; after dump_files_plan(), which calls it
 * unless dump_shared_see() does.
 */
int dump_in_place_plan(struct dump *d);
/* In the pause, after dump_files_get(): clone kept files, note the times of watched ones. */
int dump_in_place_take(struct dump *d);
/* May other nodes have the file, too, as far as its file system tells? Surely? */
bool dump_shared_may(const struct ckpt_rec_file *rec);
bool dump_shared_is(const struct ckpt_rec_file *rec);
/*
 * Jobs over several nodes, in the pause: write back what the tree wrote to files that nodes may
 * share, before flushed(); see what all have written and plan, after it.
 */
int dump_shared_flush(struct dump *d);
int dump_shared_see(struct dump *d);
/* Dry run: tell of kept files; nobody knows yet whether they can be cloned. */
void dump_in_place_foresee(struct dump *d);
/*
 * Count the file, and name it if it is one of the first that are not only appended to. The entry
 * of that, or NULL.
 */
struct dump_file_told *dump_in_place_tell(struct dump *d, const char *path, uint64_t size,
					  enum dump_fate fate);

#endif /* STILLPOINT_DUMP_IN_PLACE_H */
