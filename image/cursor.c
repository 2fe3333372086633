// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading a file of an image from front to back: chunks, and records in them.
 *
 * A cursor checks what the manifest says of the file as a whole: number of
 * chunks, raw bytes, and the digest over the tags when it reaches the end.  A
 * record source cuts the raw bytes into records, copies each (it may straddle
 * chunks) and checks its length against what is left of the file before it asks
 * for memory.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "image/reader_priv.h"
#include "image/stream.h"

int cursor_start(struct cursor *c, enum image_file file)
{
	uint8_t *raw = c->raw ? c->raw : malloc(IMAGE_CHUNK_MAX);

	if (!raw)
		return -ENOMEM;
	*c = (struct cursor){
		.file = file,
		.raw = raw,
		.offset = sizeof(struct image_file_hdr),
	};
	crypto_generichash_init(&c->digest, NULL, 0, IMAGE_DIGEST_BYTES);
	return 0;
}

void cursor_done(struct cursor *c)
{
	free(c->raw);
	*c = (struct cursor){};
}

uint64_t cursor_left(const struct image_reader *r, const struct cursor *c)
{
	return r->m->files[c->file].raw_len - c->taken;
}

static int check_end(struct image_reader *r, struct cursor *c)
{
	const struct image_file_info *info = &r->m->files[c->file];
	crypto_generichash_state digest = c->digest;
	uint8_t sum[IMAGE_DIGEST_BYTES];

	crypto_generichash_final(&digest, sum, sizeof(sum));
	if (c->offset != info->len || memcmp(sum, info->digest, sizeof(sum)))
		return fault_set(&r->fault, -EBADMSG, info->name, c->offset,
				 "the chunks are not those of the manifest");
	return 0;
}

int cursor_next_chunk(struct image_reader *r, struct cursor *c)
{
	const struct image_file_info *info = &r->m->files[c->file];
	struct chunk_read chunk;
	int err;

	c->pos = 0;
	c->len = 0;
	if (c->seq == info->nr_chunks)
		return check_end(r, c);
	err = reader_skip_gap(r, c->file, &c->offset);
	if (!err)
		err = reader_chunk(r, c->file, c->seq, c->offset, c->raw, &chunk);
	if (err)
		return err;
	/* Copy: other readers use the window, too. */
	if (chunk.raw && chunk.raw != c->raw)
		memcpy(c->raw, chunk.raw, chunk.raw_len);
	crypto_generichash_update(&c->digest, chunk.tag, IMAGE_TAG_BYTES);
	c->seq++;
	c->offset += chunk.len;
	c->len = chunk.raw_len;
	return 1;
}

/* 1: all @len bytes were taken; 0: the file ends before the first one; or -errno. */
static int cursor_take(struct image_reader *r, struct cursor *c, void *buf, size_t len)
{
	uint8_t *p = buf;
	bool first = true;

	while (len) {
		uint32_t n = c->len - c->pos;
		int more;

		if (!n) {
			more = cursor_next_chunk(r, c);
			if (more < 0)
				return more;
			if (!more && first)
				return 0;
			if (!more)
				return fault_set(&r->fault, -EBADMSG,
						 image_file_names[c->file],
						 c->offset, "ends inside a record");
			continue;
		}
		if (n > len)
			n = (uint32_t)len;
		memcpy(p, c->raw + c->pos, n);
		c->pos += n;
		c->taken += n;
		p += n;
		len -= n;
		first = false;
	}
	return 1;
}

int record_source_start(struct record_source *src, enum image_file file)
{
	src->nr = 0;
	return cursor_start(&src->cursor, file);
}

void record_source_done(struct record_source *src)
{
	cursor_done(&src->cursor);
	free(src->buf);
	*src = (struct record_source){};
}

static int make_room(struct record_source *src, size_t len)
{
	uint8_t *buf;

	if (len <= src->room)
		return 0;
	buf = realloc(src->buf, len);
	if (!buf)
		return -ENOMEM;
	src->buf = buf;
	src->room = len;
	return 0;
}

int record_source_next(struct image_reader *r, struct record_source *src,
		       struct image_record *ret_record)
{
	struct cursor *c = &src->cursor;
	const char *name = image_file_names[c->file];
	struct image_rec_hdr hdr;
	uint32_t len;
	int ret;

	ret = cursor_take(r, c, &hdr, sizeof(hdr));
	if (ret <= 0)
		return ret;
	len = le32toh(hdr.len);
	if (len < sizeof(hdr) || len % 8 || len > IMAGE_RECORD_MAX ||
	    len - sizeof(hdr) > cursor_left(r, c))
		return fault_set(&r->fault, -EBADMSG, name, c->offset,
				 "record %llu (type %u) has impossible length %u",
				 (unsigned long long)src->nr, le16toh(hdr.type), len);
	if (make_room(src, len < 4096 ? 4096 : len))
		return fault_set(&r->fault, -ENOMEM, name, c->offset,
				 "out of memory");
	memcpy(src->buf, &hdr, sizeof(hdr));
	if (len > sizeof(hdr)) {
		ret = cursor_take(r, c, src->buf + sizeof(hdr), len - sizeof(hdr));
		if (ret < 0)
			return ret;
		if (!ret)
			return fault_set(&r->fault, -EBADMSG, name, c->offset,
					 "ends inside a record");
	}
	src->nr++;
	ret_record->type = le16toh(hdr.type);
	ret_record->version = le16toh(hdr.version);
	ret_record->len = len;
	ret_record->data = src->buf;
	return 1;
}
