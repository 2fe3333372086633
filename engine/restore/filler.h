/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that write pages of an image into memory maps, in parallel.
 *
 * One thread, the owner, names the pages.  They are written in no particular order, and
 * all are written when filler_wait() returns.  Each thread reads, checks and unpacks
 * chunks by itself and hands them to the kernel.  Memory: 9 MiB for each thread.
 */
#ifndef STILLPOINT_FILLER_H
#define STILLPOINT_FILLER_H

#include "base/error.h"
#include "image/reader.h"
#include "engine/core/kdev.h"
#include "engine/restore/placement.h"

struct filler;

/* A memory map to be filled. */
struct filler_map {
	unsigned int index;	/* below nr_maps */
	uint64_t mm_id;
	pid_t pid;		/* a thread of the process, which has entered */
	struct placement placement;	/* of its pages */
};

/*
 * Start the threads.  @reader and @dev must outlive the filler; meanwhile only the owner
 * may use them.
 */
int filler_create(struct image_reader *reader, struct kdev *dev, unsigned int nr_maps,
		  struct ckpt_error *error, struct filler **ret_filler);
/* End the threads; ranges that were not begun stay unwritten.  NULL is fine. */
void filler_destroy(struct filler *f);

/* Write a range of pages, all of them in the image.  Also reports failures of earlier ranges. */
int filler_put(struct filler *f, const struct filler_map *map, uint64_t start, uint64_t end);

/* Wait until all ranges of one map are written; returns the first failure of any range. */
int filler_wait(struct filler *f, unsigned int index);
int filler_wait_all(struct filler *f);

uint64_t filler_bytes(struct filler *f);	/* written so far */

#endif /* STILLPOINT_FILLER_H */
