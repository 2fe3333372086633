/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index of an image: which chunks there are, what memory and which blobs
 * they hold.
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
};

/* Writes to a memory map are tracked from this image on. */
struct track {
	uint64_t owner;
	uint64_t token;
};

struct index {
	/* chunk tables by enum image_file; of a writer those of bases only */
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

/* The tables that positions in pages point into: @own's, then those of the @nr_bases bases. */
void index_page_chunks(const struct index *ix, const struct image_ix_chunk *own, uint64_t nr_own,
		       unsigned int nr_bases, struct extent_chunks ret_chunks[1 + IMAGE_BASES_MAX]);

/* Check tables against each other; sorts them. The chunk tables must be there. */
int index_check(struct index *ix, const struct extent_chunks *pages,
		const struct extent_chunks *blobs, struct ckpt_error *error);

/* Records of the chunk tables (of @pages, @blobs and bases), extents, blobs and tracks. */
int index_write(const struct index *ix, const struct stream *pages,
		const struct stream *blobs, struct stream *out);

/* Take in one record of the index stream. */
int index_parse(struct index *ix, const struct image_record *rec,
		struct ckpt_error *error);

/* Do the chunks of @file fill it exactly?  @sealed: they are encrypted. */
int index_check_chunks(const struct index *ix, enum image_file file,
		       const struct image_file_info *info, bool sealed,
		       struct ckpt_error *error);

const struct blob *index_find_blob(const struct index *ix, uint64_t id);

void index_done(struct index *ix);

#endif /* STILLPOINT_IMAGE_INDEX_H */
