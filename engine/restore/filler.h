/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that put pages of an image into memory maps, side by side.
 *
 * One thread, the owner, says which; everything is written when filler_wait()
 * says so, in no particular order before.  Each thread reads, checks and unpacks
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
	pid_t pid;		/* of a thread that has entered */
	struct placement placement;	/* of its pages */
};

/*
 * Starts the threads.  @reader and @dev live longer, and nobody else closes or
 * reads them, but the owner may.
 */
int filler_create(struct image_reader *reader, struct kdev *dev, unsigned int nr_maps,
		  struct ckpt_error *error, struct filler **ret_filler);
/* Ends the threads; what was not begun stays undone.  NULL is fine. */
void filler_destroy(struct filler *f);

/* A range of pages, all of them in the image.  Fails if something before it has. */
int filler_put(struct filler *f, const struct filler_map *map, uint64_t start, uint64_t end);

/* Until all that was put for a map is written; the first failure of any. */
int filler_wait(struct filler *f, unsigned int index);
int filler_wait_all(struct filler *f);

uint64_t filler_bytes(struct filler *f);	/* written so far */

#endif /* STILLPOINT_FILLER_H */
