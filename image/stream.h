/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One file of an image while it is written: bytes in, chunks out.
 */
#ifndef STILLPOINT_IMAGE_STREAM_H
#define STILLPOINT_IMAGE_STREAM_H

#include <sodium.h>

#include "image/chunk.h"
#include "image/format.h"
#include "image/pipeline.h"
#include "image/writer.h"

struct stream {
	struct image_writer *writer;	/* not owned */
	struct pipeline *pipeline;	/* not owned */
	enum image_file file;
	struct image_wfile *wfile;	/* NULL until stream_open() */
	uint8_t *raw;			/* buffer of the chunk being filled; NULL: none yet */
	uint32_t raw_used;
	uint8_t *out;			/* encoded, not appended yet; aligned; may be NULL */
	size_t out_used;
	uint64_t len;			/* of the file, out included */
	uint64_t raw_len;		/* of all chunks, raw_used not included */
	struct image_ix_chunk *chunks;
	uint64_t nr_put;		/* chunks that went into the pipeline */
	uint64_t nr_chunks;		/* that came out of it */
	size_t room;
	crypto_generichash_state digest;
};

extern const char *const image_file_names[IMAGE_FILES];	/* by enum image_file */

/* Create the file; @hdr is its first bytes. */
int stream_open(struct stream *s, struct image_writer *writer,
		struct pipeline *pipeline, enum image_file file,
		const struct image_file_hdr *hdr);

/*
 * stream_put() - add bytes, at most up to the end of the current chunk
 * @ret_where: position of the first one
 * @ret_len: how many were taken, at least 1
 */
int stream_put(struct stream *s, const void *data, size_t len,
	       uint64_t *ret_where, size_t *ret_len);

/* The same for all of them, wherever they end up. */
int stream_write(struct stream *s, const void *data, size_t len);

/* For the pipeline: the next chunk, encoded. */
int stream_take(struct stream *s, const void *chunk, size_t len, uint32_t raw_len);

/* Everything encoded and appended, nothing more accepted; @ret_digest over the tags. */
int stream_finish(struct stream *s, uint8_t ret_digest[IMAGE_DIGEST_BYTES]);

int stream_sync(struct stream *s);

/* Close and free; safe on what was never opened. */
int stream_close(struct stream *s);

#endif /* STILLPOINT_IMAGE_STREAM_H */
