/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index of an image: lists the chunks of each file, and the memory and blobs in
 * them.
 */
#ifndef STILLPOINT_IMAGE_INDEX_H
#define STILLPOINT_IMAGE_INDEX_H

#include "base/error.h"
#include "image/extent.h"
#include "image/fault.h"
#include "image/reader.h"
#include "image/stream.h"

struct blob {
	uint64_t id;
	uint64_t size;
	bool paged;		/* its extents are among those of memory; set by the check */
};

/* Writes to a memory map are tracked from this image on. */
struct track {
	uint64_t owner;
	uint64_t token;
};

struct index {
	/* chunk tables by enum image_file; a writer has only those of bases here */
	struct image_ix_chunk *chunks[IMAGE_FILES];
	uint64_t nr_chunks[IMAGE_FILES];
	struct extent_table memory;
	struct extent_table files;	/* contents of blobs */
	struct blob *blobs;		/* ascending ids after the check */
	size_t nr_blobs;
	size_t room_blobs;
	struct track *tracks;
	size_t nr_tracks;
};

int index_add_blob(struct index *ix, uint64_t id, uint64_t size);
int index_add_track(struct index *ix, uint64_t owner, uint64_t token);

/* Collect the chunk tables that page positions point into: @own, then the @nr_bases bases'. */
void index_page_chunks(const struct index *ix, const struct image_ix_chunk *own, uint64_t nr_own,
		       unsigned int nr_bases, struct extent_chunks ret_chunks[1 + IMAGE_BASES_MAX]);

/* Sort the tables and check them against each other. The chunk tables must be filled. */
int index_check(struct index *ix, const struct extent_chunks *pages,
		const struct extent_chunks *blobs, struct ckpt_error *error);

/* Write records: chunk tables (of @pages, @blobs and bases), extents, blobs and tracks. */
int index_write(const struct index *ix, const struct stream *pages,
		const struct stream *blobs, struct stream *out);

/* Add one record of the index stream to the index. */
int index_parse(struct index *ix, const struct image_record *rec,
		struct ckpt_error *error);

/* Do the chunks of @file fill it exactly?  @sealed: they are encrypted. */
int index_check_chunks(const struct index *ix, enum image_file file,
		       const struct image_file_info *info, bool sealed,
		       struct ckpt_error *error);

const struct blob *index_find_blob(const struct index *ix, uint64_t id);

void index_done(struct index *ix);

#endif /* STILLPOINT_IMAGE_INDEX_H */
