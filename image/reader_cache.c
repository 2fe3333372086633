// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chunks of pages and contents that were read last.
 *
 * A large chunk that is stored as it is stays where it was read and authenticated:
 * its buffer is the slot's from then on, and the window goes on with the slot's.  So no
 * byte of it is copied, and nobody can change it in between.  A small one is copied: the
 * window has others behind it.  Where several were read at once they stay in the window
 * until that is read into again.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/reader_priv.h"
#include "image/stream.h"

#define LARGE	(256U << 10)

static struct cached_chunk *pick_slot(struct image_reader *r)
{
	struct cached_chunk *oldest = &r->cache[0];

	for (unsigned int i = 1; i < CACHE_SLOTS + r->m->nr_bases; i++)
		if (r->cache[i].used < oldest->used)
			oldest = &r->cache[i];
	if (!oldest->buf)
		oldest->buf = window_buffer();
	return oldest->buf ? oldest : NULL;
}

static void reader_cache_keep(struct image_reader *r, enum image_file file,
			      const struct chunk_read *chunk, struct cached_chunk *slot)
{
	struct window *w = reader_window(r, file);
	uint8_t *buf;

	slot->len = chunk->raw_len;
	slot->raw = chunk->raw;
	slot->lent = 0;
	if (chunk->raw == slot->buf)
		return;
	if (chunk->raw_len < LARGE) {
		slot->raw = memcpy(slot->buf, chunk->raw, chunk->raw_len);
		return;
	}
	buf = window_swap(w, slot->buf);
	if (buf)
		slot->buf = buf;
	else
		slot->lent = w->reads;
}

/* True if the window has been read into again since the slot was lent. */
static bool is_gone(struct image_reader *r, const struct cached_chunk *slot)
{
	return slot->lent && slot->lent != reader_window(r, slot->file)->reads;
}

/* Read ahead only chunks that fit into the window whole: others would be read again. */
static void read_whole_ones(struct image_reader *r, enum image_file file, uint64_t seq)
{
	const struct image_ix_chunk *c = &r->index.chunks[file][seq];
	struct window *w = reader_window(r, file);
	uint64_t nr = r->index.nr_chunks[file], end = 0;
	uint64_t reach = w ? window_reach(w, le64toh(c->offset)) : 0;

	for (uint64_t i = seq; i < nr; i++, c++) {
		uint64_t next = reader_chunk_end(c);

		if (next > reach)
			break;
		end = next;
	}
	if (end)
		window_hint(w, end);
}

int reader_cached(struct image_reader *r, enum image_file file, uint64_t seq,
		  const struct cached_chunk **ret_chunk)
{
	const struct image_ix_chunk *entry = &r->index.chunks[file][seq];
	struct chunk_read chunk;
	struct cached_chunk *slot;
	int err;

	for (unsigned int i = 0; i < CACHE_SLOTS + r->m->nr_bases; i++) {
		slot = &r->cache[i];
		if (slot->file == file && slot->seq == seq && !is_gone(r, slot)) {
			slot->used = ++r->clock;
			*ret_chunk = slot;
			return 0;
		}
	}
	slot = pick_slot(r);
	if (!slot)
		return fault_set(&r->fault, -ENOMEM, image_file_names[file], 0,
				 "out of memory");
	slot->file = 0;
	read_whole_ones(r, file, seq);
	err = reader_chunk(r, file, seq, le64toh(entry->offset), slot->buf, &chunk);
	if (err)
		return err;
	/* extents were checked against the table, so it must be right */
	if (chunk.raw_len != le32toh(entry->raw_len))
		return fault_set(&r->fault, -EBADMSG, image_file_names[file],
				 le64toh(entry->offset),
				 "chunk %llu has another length than in the index",
				 (unsigned long long)seq);
	reader_cache_keep(r, file, &chunk, slot);
	slot->file = file;
	slot->seq = seq;
	slot->used = ++r->clock;
	*ret_chunk = slot;
	return 0;
}
