/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One file of an image while it is written.  A stream takes bytes, has them encoded in chunks by
 * the pipeline, and appends the chunks to the file.
 */
#ifndef STILLPOINT_IMAGE_STREAM_H
#define STILLPOINT_IMAGE_STREAM_H

#include <sodium.h>

#include "image/chunk_pool.h"
#include "image/format.h"
#include "image/pipeline.h"
#include "image/writer.h"

struct stream {
	struct image_writer *writer;	/* not owned */
	struct pipeline *pipeline;	/* not owned */
	struct chunk_pool *pool;	/* not owned */
	enum image_file file;
	struct image_wfile *wfile;	/* NULL until stream_open() */
	struct chunk_room raw;		/* the chunk being filled; raw.p NULL: none */
	uint32_t raw_used;
	uint8_t *out;			/* encoded, not appended yet; aligned; may be NULL */
	size_t out_used;
	uint64_t len;			/* length of the file, out included */
	bool lent;			/* the last chunk was in memory lent by the writer */
	bool padded;			/* a chunk was lent, so there may be gaps before chunks */
	uint64_t raw_len;		/* raw bytes of all chunks, raw_used not included */
	struct image_ix_chunk *chunks;
	uint64_t nr_put;		/* chunks that went into the pipeline */
	uint64_t nr_chunks;		/* chunks that came out of the pipeline */
	size_t room;
	crypto_generichash_state digest;
};

extern const char *const image_file_names[IMAGE_FILES];	/* by enum image_file */

/* Create the file; @hdr is its first bytes. */
int stream_open(struct stream *s, struct chunk_pool *pool, struct pipeline *pipeline,
		enum image_file file, const struct image_file_hdr *hdr);

/*
 * True if it pays to make chunks in the writer's memory: the stream has more than one chunk, and
 * its file may have gaps between chunks.
 */
static inline bool stream_is_long(const struct stream *s)
{
	return s->nr_put > 0 && (s->file == IMAGE_FILE_PAGES || s->file == IMAGE_FILE_BLOBS);
}

/*
 * stream_adopt() - announce that the next bytes to be put lie in @room's payload, in order
 *
 * If the current chunk is empty, or nearly full, @room becomes the next chunk and @room is empty
 * afterwards; its bytes are then put without a copy, or moved within it.
 */
int stream_adopt(struct stream *s, struct chunk_room *room);

/*
 * stream_put() - add bytes, at most up to the end of the current chunk
 * @ret_where: position of the first one
 * @ret_len: how many were taken, at least 1
 */
int stream_put(struct stream *s, const void *data, size_t len,
	       uint64_t *ret_where, size_t *ret_len);

/* Put all bytes, over as many chunks as needed. */
int stream_write(struct stream *s, const void *data, size_t len);

/*
 * For the pipeline: append the next encoded chunk.  Takes over @raw if the chunk lies in it and
 * its memory was lent.
 */
int stream_take(struct stream *s, const uint8_t *chunk, size_t len, uint32_t raw_len,
		struct chunk_room *raw);

/* Encode and append all bytes; put nothing afterwards.  @ret_digest is made over all tags. */
int stream_finish(struct stream *s, uint8_t ret_digest[IMAGE_DIGEST_BYTES]);

int stream_sync(struct stream *s);

/* Close and free; safe on a stream that was never opened. */
int stream_close(struct stream *s);

#endif /* STILLPOINT_IMAGE_STREAM_H */
