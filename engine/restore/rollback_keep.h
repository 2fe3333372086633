/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that a rollback leaves as it is.
 *
 * The kernel tracks writes to a map from a snapshot on, under a token that the image of that
 * snapshot has, too (image_tracked()). If a rollback goes to that image, a page that is there and
 * was not written has the content of the image. So a map whose mappings are those of the image
 * stays, and only pages that differ are written or dropped.
 *
 * Functions without a device decide from two models and touch nothing else.
 */
#ifndef STILLPOINT_ROLLBACK_KEEP_H
#define STILLPOINT_ROLLBACK_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/core/state.h"
#include "image/reader.h"

/* Pages that the map has now, ascending; runs that touch differ. */
struct keep_run {
	uint64_t start, end;
	bool clean;		/* not written since the image; of pages of L0: no meaning */
};

/* One map of the image. */
struct keep_map {
	uint32_t now_id;	/* its mm_id in the frozen tree; 0: its memory does not stay */
	uint64_t token;		/* of the snapshot that its clean pages are as in */
	struct keep_run *runs;	/* owned */
	unsigned int nr, room;
	bool l0;		/* the kernel holds that snapshot for us: rollback_l0.h */
	struct keep_run *l0_runs;	/* pages that the snapshot has, as @runs; owned */
	unsigned int nr_l0, room_l0;
	const char *data;	/* of pages to write, in the order of rollback_keep_walk(); NULL:
				   they were not read */
};

struct rollback_keep {
	struct keep_map *maps;	/* by index in the image's state; owned */
	unsigned int nr_maps;
	uint64_t clean;		/* bytes of clean pages in all maps that stay */
	char *data;		/* of all maps; owned */
};

/**
 * rollback_keep_look() - find the maps that may stay, and which of their pages were written
 * @image, @now: the image's model, and that of the frozen tree; rollback_compare() was true
 * @dev: the context of the frozen tree
 * @keep: gets the answer; empty if @dev cannot keep memory
 *
 * Return: 0, also if no map stays; negative errno with @error.
 */
int rollback_keep_look(const struct state *image, const struct state *now,
		       struct image_reader *reader, struct kdev *dev, struct rollback_keep *keep,
		       struct ckpt_error *error);
void rollback_keep_done(struct rollback_keep *keep);

/*
 * Are the mappings of @image there, with the same attributes and files? Others may be there, too.
 * @image_ns: when the image was taken (CLOCK_REALTIME). A file that was changed right before that
 * may have been changed again without a change of its time.
 */
bool rollback_keep_fits(const struct state_mm *image, const struct state_mm *now,
			uint64_t image_ns);
/* Can a map of an image stay at all, if nothing is changed until the rollback? */
bool rollback_keep_can(const struct state_mm *image, uint64_t image_ns);

/* A page in the image, and the answer. */
enum keep_page {
	KEEP_NONE,
	KEEP_DATA,
	KEEP_ZERO,
};

enum keep_what {
	KEEP_WRITE,		/* write the image's content */
	KEEP_COPY,		/* the same; the kernel's snapshot has the page */
	KEEP_DROP,		/* the page is not in the image: an untouched one reads right */
};

struct keep_piece {
	uint64_t start, end;
	enum keep_page page;	/* not KEEP_NONE */
};

typedef int (*keep_fn)(enum keep_what what, uint64_t start, uint64_t end, void *arg);

/**
 * rollback_keep_diff() - what makes [start, end) of a map that stays that of the image
 * @pieces: what the image has there, ascending, @nr of them
 * @zeros: pages of zeros have to be written: untouched pages read as a file
 * @fn: called in address order; a return other than 0 ends the walk and is returned. KEEP_COPY does
 *	not occur here
 */
int rollback_keep_diff(const struct keep_map *map, const struct keep_piece *pieces,
		       unsigned int nr, uint64_t start, uint64_t end, bool zeros, keep_fn fn,
		       void *arg);

/* Has the image pages of mappings of this kind? */
bool rollback_keep_has_pages(const struct state_vma *vma);

/* Add pages, in ascending order, to an array of runs that grows. -ENOMEM, or 0. */
int rollback_keep_add(struct keep_run **runs, unsigned int *nr, unsigned int *room,
		      const struct ckpt_page_run *run);

/*
 * As rollback_keep_diff(), for a mapping of a map that stays, with what the image has there. Pages
 * that the kernel's snapshot has are copied; it has none of mappings that a fork does not copy.
 */
int rollback_keep_walk(const struct keep_map *map, struct image_reader *reader,
		       const struct state_vma *vma, keep_fn fn, void *arg);

/**
 * rollback_keep_read() - read all that a rollback will read of its image, when all maps stay
 *
 * Pages that L0 has are not read. Others stay in memory until rollback_keep_done(); contents of
 * files are only checked.
 *
 * Return: 1; 0: a map does not stay, or it is so much that all of the image is better read while
 * the tree runs; negative errno: the image is damaged, image_reader_error() says where.
 */
int rollback_keep_read(struct rollback_keep *keep, const struct state *image,
		       struct image_reader *reader);

#endif /* STILLPOINT_ROLLBACK_KEEP_H */
