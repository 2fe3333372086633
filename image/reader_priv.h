/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The open image; shared by the reader's files and verify.c only.
 */
#ifndef STILLPOINT_IMAGE_READER_PRIV_H
#define STILLPOINT_IMAGE_READER_PRIV_H

#include <endian.h>
#include <sodium.h>

#include "image/chunk.h"
#include "image/fault.h"
#include "image/index.h"
#include "image/manifest.h"
#include "image/reader.h"
#include "image/window.h"

#define CACHE_SLOTS	4		/* and one for each base */

/* One chunk, decoded. */
struct cached_chunk {
	enum image_file file;	/* 0: empty */
	uint64_t seq;
	uint64_t used;		/* clock of the last use */
	uint32_t len;
	const uint8_t *raw;	/* in buf, or in a window */
	uint64_t lent;		/* in a window: while its reads are so many; or 0 */
	uint8_t *buf;		/* a window_buffer() */
};

/* One chunk that was read. */
struct chunk_read {
	const uint8_t *raw;	/* bytes: unpacked, or in the window until its next use */
	uint32_t raw_len;
	const uint8_t *tag;	/* in the window */
	size_t len;		/* stored, from header to tag */
};

/* A file read from its first chunk to its last. */
struct cursor {
	enum image_file file;
	uint64_t seq;		/* of the next chunk */
	uint64_t offset;	/* of the next chunk */
	uint64_t taken;		/* raw bytes given out */
	uint32_t pos, len;	/* in raw */
	uint8_t *raw;		/* IMAGE_CHUNK_MAX */
	crypto_generichash_state digest;
};

/* Records out of a cursor. */
struct record_source {
	struct cursor cursor;
	uint8_t *buf;		/* the record given out last */
	size_t room;
	uint64_t nr;
};

struct image_reader {
	/* of a clone: it borrows dir, fds, manifest and index, which nobody changes */
	const struct image_reader *original;
	int dir;
	int fds[IMAGE_FILES];
	struct manifest *manifest;
	const struct image_manifest *m;
	struct chunk_keys *keys;	/* NULL: the original's, likewise base_keys */
	struct chunk_keys *base_keys[IMAGE_BASES_MAX];
	struct chunk_decoder *dec;
	struct chunk_decoder *base_decs[IMAGE_BASES_MAX];
	struct window window;
	struct window base_windows[IMAGE_BASES_MAX];	/* made when they are needed */
	uint8_t *chunk;		/* in a window: the one read last, encoded */
	struct index index;
	struct record_source state;
	struct cached_chunk cache[CACHE_SLOTS + IMAGE_BASES_MAX];
	uint64_t clock;
	struct fault fault;
};

/*
 * Open in steps: a reader comes back even from a failure, to be asked for the
 * fault and closed.
 */
struct image_reader *reader_new(void);
/* @locked: without the secret of an encrypted image, too, but then not with its index. */
int reader_open(struct image_reader *r, const char *dir, const struct image_key *key,
		const struct image_expect *expect, bool locked);

/*
 * Read the chunk at @offset, and unpack it into @room (IMAGE_CHUNK_MAX bytes) if it is
 * packed.  A locked reader authenticates it, and there are no raw bytes.
 */
int reader_chunk(struct image_reader *r, enum image_file file, uint64_t seq,
		 uint64_t offset, void *room, struct chunk_read *ret_chunk);
/*
 * Move *@offset from the end of a chunk to the begin of the next one, without the table.
 * -EBADMSG: the bytes between are no gap.
 */
int reader_skip_gap(struct image_reader *r, enum image_file file, uint64_t *offset);

/* Offset of the chunk's end in its file. */
static inline uint64_t reader_chunk_end(const struct image_ix_chunk *c)
{
	return le64toh(c->offset) + sizeof(struct image_chunk_hdr) +
	       le32toh(c->stored_len) + IMAGE_TAG_BYTES;
}

/* The window of @file, the image's or a base's; NULL: out of memory. */
struct window *reader_window(struct image_reader *r, enum image_file file);

/* Chunk @seq of pages or blobs, by the table, through the cache (reader_cache.c). */
int reader_cached(struct image_reader *r, enum image_file file, uint64_t seq,
		  const struct cached_chunk **ret_chunk);

/* The file with the data of a DATA extent of memory. */
static inline enum image_file reader_file_of(const struct extent *e)
{
	return (enum image_file)(e->src ? IMAGE_FILE_BASE + e->src - 1 : IMAGE_FILE_PAGES);
}

/*
 * Extent with the contents of a page, DATA or ZERO, and the page's offset in it;
 * @ret_len: from there on.  NULL: the image has no such page.
 */
const struct extent *reader_resolve(const struct image_reader *r, uint64_t mm_id,
				    uint64_t addr, uint64_t *ret_offset,
				    uint64_t *ret_len);

/* cursor.c */
int cursor_start(struct cursor *c, enum image_file file);
void cursor_done(struct cursor *c);
/* Decode the next chunk into c->raw; 1, 0 at the (checked) end, or -errno. */
int cursor_next_chunk(struct image_reader *r, struct cursor *c);
/* Raw bytes that are left. */
uint64_t cursor_left(const struct image_reader *r, const struct cursor *c);

int record_source_start(struct record_source *src, enum image_file file);
void record_source_done(struct record_source *src);
int record_source_next(struct image_reader *r, struct record_source *src,
		       struct image_record *ret_record);

#endif /* STILLPOINT_IMAGE_READER_PRIV_H */
