// SPDX-License-Identifier: GPL-2.0-only
/*
 * One file of an image while it is written.
 *
 * Bytes fill a raw buffer.  A full buffer goes through the pipeline, which hands it
 * back as an encoded chunk, in order.  A writer with buffers of its own takes the chunk
 * as it is; a chunk in memory that the writer has lent is not even copied, but begins at
 * a block of the file.  For other writers the chunk is added to the output buffer; when
 * that has 1 MiB, its whole pages are appended to the file and the rest (less than a
 * page) moves to its front.  So appends are large, sequential and aligned in memory and
 * in the file, as O_DIRECT needs them.
 *
 * Must not know records or pages.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/stream.h"

#include "base/clock.h"

#define ALIGN		4096U
#define APPEND_MIN	(1U << 20)
/* With so many bytes in a chunk, stream_adopt() rather begins a new chunk than copies. */
#define NEARLY_FULL	(3 * IMAGE_CHUNK_MAX / 4)
#define OUT_BYTES (APPEND_MIN + 2 * ALIGN + ((CHUNK_BOUND + ALIGN - 1) & ~(size_t)(ALIGN - 1)))

const char *const image_file_names[IMAGE_FILES] = {
	[IMAGE_FILE_STATE] = "state",
	[IMAGE_FILE_INDEX] = "index",
	[IMAGE_FILE_PAGES] = "pages",
	[IMAGE_FILE_BLOBS] = "blobs",
	"base1", "base2", "base3", "base4", "base5", "base6", "base7", "base8",
	"base9", "base10", "base11", "base12", "base13", "base14", "base15",
};

_Static_assert(sizeof(struct image_file_hdr) == 64, "format");

/* Append the output buffer: its whole pages, or, at the end (@all), everything. */
static int stream_append(struct stream *s, bool all)
{
	size_t n = all ? s->out_used : s->out_used & ~(size_t)(ALIGN - 1);
	uint64_t start = clock_monotonic_ns();
	int err;

	if (!n)
		return 0;
	err = s->writer->ops->append(s->wfile, s->out, n);
	if (err)
		return err;
	if (n >= APPEND_MIN)
		pipeline_written(s->pipeline, n, clock_monotonic_ns() - start);
	s->out_used -= n;
	memmove(s->out, s->out + n, s->out_used);
	return 0;
}

static bool has_buffers(const struct stream *s)
{
	return s->writer->ops->written;
}

static void ask_speed(struct stream *s)
{
	uint64_t bytes, ns;

	s->writer->ops->written(s->wfile, &bytes, &ns);
	pipeline_written(s->pipeline, bytes, ns);
}

/* Give bytes to the writer; through the output buffer if the writer has no buffers itself. */
static int stream_give(struct stream *s, const void *data, size_t len)
{
	int err;

	if (has_buffers(s)) {
		err = s->writer->ops->append(s->wfile, data, len);
		if (!err)
			ask_speed(s);
		return err;
	}
	memcpy(s->out + s->out_used, data, len);
	s->out_used += len;
	return s->out_used >= APPEND_MIN ? stream_append(s, false) : 0;
}

int stream_open(struct stream *s, struct chunk_pool *pool, struct pipeline *pipeline,
		enum image_file file, const struct image_file_hdr *hdr)
{
	struct image_writer *writer = pool->writer;
	int err;

	memset(s, 0, sizeof(*s));
	s->writer = writer;
	s->pool = pool;
	s->pipeline = pipeline;
	s->file = file;
	crypto_generichash_init(&s->digest, NULL, 0, IMAGE_DIGEST_BYTES);
	s->out = has_buffers(s) ? NULL : aligned_alloc(ALIGN, OUT_BYTES);
	if (!s->out && !has_buffers(s))
		return -ENOMEM;
	s->len = sizeof(*hdr);
	err = writer->ops->open(writer, image_file_names[file], &s->wfile);
	return err ? err : stream_give(s, hdr, sizeof(*hdr));
}

static int note_chunk(struct stream *s, size_t len, uint32_t raw_len)
{
	struct image_ix_chunk *c;

	if (s->nr_chunks == s->room) {
		size_t room = s->room ? s->room * 2 : 64;

		c = reallocarray(s->chunks, room, sizeof(*c));
		if (!c)
			return -ENOMEM;
		s->chunks = c;
		s->room = room;
	}
	c = &s->chunks[s->nr_chunks];
	c->offset = htole64(s->len);
	c->stored_len = htole32((uint32_t)(len - sizeof(struct image_chunk_hdr) -
					   IMAGE_TAG_BYTES));
	c->raw_len = htole32(raw_len);
	return 0;
}

static int give_lent(struct stream *s, uint8_t *chunk, size_t len)
{
	int err = s->writer->ops->append_lent(s->wfile, chunk, (uint32_t)len);

	if (!err)
		ask_speed(s);
	return err;
}

int stream_take(struct stream *s, const uint8_t *chunk, size_t len, uint32_t raw_len,
		struct chunk_room *raw)
{
	bool lent = raw->lent && chunk == raw->p;
	int err;

	if (lent || s->lent)
		s->len = IMAGE_ALIGN_UP(s->len);
	s->lent = lent;
	s->padded |= lent;
	err = note_chunk(s, len, raw_len);
	if (err)
		return err;
	crypto_generichash_update(&s->digest, chunk + len - IMAGE_TAG_BYTES, IMAGE_TAG_BYTES);
	s->nr_chunks++;
	s->len += len;
	s->raw_len += raw_len;
	return lent ? give_lent(s, take_ptr(raw->p), len) : stream_give(s, chunk, len);
}

static int stream_encode(struct stream *s)
{
	uint32_t raw_len = s->raw_used;

	s->raw_used = 0;
	return pipeline_put(s->pipeline, s, s->nr_put++, &s->raw, raw_len);
}

int stream_adopt(struct stream *s, struct chunk_room *room)
{
	int err = 0;

	if (s->raw_used >= NEARLY_FULL)
		err = stream_encode(s);
	if (err || s->raw_used)
		return err;
	chunk_pool_put(s->pool, &s->raw);
	s->raw = *room;
	room->p = NULL;
	return 0;
}

int stream_put(struct stream *s, const void *data, size_t len,
	       uint64_t *ret_where, size_t *ret_len)
{
	uint64_t where = s->nr_put * IMAGE_CHUNK_MAX + s->raw_used;
	uint8_t *to;
	size_t room;
	int err = 0;

	if (!s->raw.p)
		s->raw = chunk_pool_get(s->pool, stream_is_long(s));
	if (!s->raw.p)
		return -ENOMEM;
	room = chunk_room_bytes(&s->raw) - s->raw_used;
	if (len > room)
		len = room;
	to = chunk_payload(s->raw.p) + s->raw_used;
	if (to != data)		/* equal: the room was adopted, and no byte before was skipped */
		memmove(to, data, len);
	s->raw_used += (uint32_t)len;
	if (len == room)
		err = stream_encode(s);
	if (err)
		return err;
	*ret_where = where;
	*ret_len = len;
	return 0;
}

int stream_write(struct stream *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t where;
	size_t n;
	int err;

	while (len) {
		err = stream_put(s, p, len, &where, &n);
		if (err)
			return err;
		p += n;
		len -= n;
	}
	return 0;
}

int stream_finish(struct stream *s, uint8_t ret_digest[IMAGE_DIGEST_BYTES])
{
	crypto_generichash_state digest;
	int err;

	if (s->raw_used) {
		err = stream_encode(s);
		if (err)
			return err;
	}
	err = pipeline_drain(s->pipeline);
	if (err)
		return err;
	err = stream_append(s, true);
	if (err)
		return err;
	digest = s->digest;
	crypto_generichash_final(&digest, ret_digest, IMAGE_DIGEST_BYTES);
	/* the next stream to finish may need the memory */
	chunk_pool_put(s->pool, &s->raw);
	free(take_ptr(s->out));
	return 0;
}

int stream_sync(struct stream *s)
{
	return s->writer->ops->sync(s->wfile);
}

int stream_close(struct stream *s)
{
	int err = s->wfile ? s->writer->ops->close(s->wfile) : 0;

	if (s->pool)
		chunk_pool_put(s->pool, &s->raw);
	free(s->out);
	free(s->chunks);
	memset(s, 0, sizeof(*s));
	return err;
}
