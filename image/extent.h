/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Table of extents: the positions of the pages of memory maps, and of the contents
 * of blobs.  The writer fills a table and the reader searches it; both check it with
 * the same code, so every table that can be committed can be read.
 */
#ifndef STILLPOINT_IMAGE_EXTENT_H
#define STILLPOINT_IMAGE_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/format.h"
#include "base/cleanup.h"
#include "base/error.h"

struct extent {
	uint64_t owner;
	uint64_t start;
	uint64_t len;
	uint64_t where;		/* DATA: position; REF: source address */
	uint64_t src;		/* REF: source owner; DATA: number of the base, 0: none */
	uint32_t kind;
};

struct extent_table {
	struct extent *v;
	size_t nr;
	size_t room;
	size_t tail;		/* from here on the extents are sorted among themselves */
	bool unsorted;
};

/*
 * The chunks that positions point into, with their lengths.  The first entry of an array of
 * nr_files is the image's own; the others are those of the bases.
 */
struct image_ix_chunk;
struct extent_chunks {
	const struct image_ix_chunk *v;
	uint64_t nr;
	unsigned int nr_files;
};

/* Add an extent; it is joined with the last extent if it continues that. */
int extent_table_add(struct extent_table *t, const struct extent *e);
void extent_table_done(struct extent_table *t);

/*
 * extent_table_check() - sort and check a whole table
 * @granule: every number is a multiple of it (pages: 4096, blobs: 1)
 *
 * -EINVAL: bounds, -EEXIST: overlap, -ENOENT: reference to nothing.
 */
int extent_table_check(struct extent_table *t, uint32_t granule,
		       const struct extent_chunks *chunks,
		       struct ckpt_error *error);

/* First extent of @owner that ends behind @pos; NULL if there is none. */
const struct extent *extent_table_find(const struct extent_table *t,
				       uint64_t owner, uint64_t pos);

/* As extent_table_find(), while the table is being filled: only in the sorted tail. */
const struct extent *extent_table_find_tail(const struct extent_table *t,
					    uint64_t owner, uint64_t pos);

/* True if @next has @prev's kind and begins where @prev ends. (Data may change chunks.) */
bool extent_joins(const struct extent *prev, const struct extent *next);

#endif /* STILLPOINT_IMAGE_EXTENT_H */
