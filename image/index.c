// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index: tables of chunks, extents and blobs, and their records.
 *
 * The writer fills, checks and writes the index; the reader parses it, and checks it
 * with the same function.  After index_check() and index_check_chunks() every number
 * in the index may be followed without another test.
 *
 * Memory: 48 bytes per extent, 16 per chunk, per blob and per tracked memory map.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/buffer.h"
#include "image/index.h"

#define PER_RECORD	8192	/* entries of a table in one record */
#define CHUNK_OVERHEAD	(sizeof(struct image_chunk_hdr) + IMAGE_TAG_BYTES)

_Static_assert(sizeof(struct image_ix_chunk) == 16, "format");
_Static_assert(sizeof(struct image_ix_extent) == 48, "format");

int index_add_blob(struct index *ix, uint64_t id, uint64_t size)
{
	if (ix->nr_blobs == ix->room_blobs) {
		size_t room = ix->room_blobs ? ix->room_blobs * 2 : 16;
		struct blob *v = reallocarray(ix->blobs, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		ix->blobs = v;
		ix->room_blobs = room;
	}
	ix->blobs[ix->nr_blobs++] = (struct blob){ .id = id, .size = size };
	return 0;
}

int index_add_track(struct index *ix, uint64_t owner, uint64_t token)
{
	struct track *v = reallocarray(ix->tracks, ix->nr_tracks + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	ix->tracks = v;
	v[ix->nr_tracks++] = (struct track){ .owner = owner, .token = token };
	return 0;
}

void index_page_chunks(const struct index *ix, const struct image_ix_chunk *own, uint64_t nr_own,
		       unsigned int nr_bases, struct extent_chunks ret_chunks[1 + IMAGE_BASES_MAX])
{
	unsigned int i;

	ret_chunks[0] = (struct extent_chunks){ own, nr_own, 1 + nr_bases };
	for (i = 0; i < nr_bases; i++)
		ret_chunks[1 + i] = (struct extent_chunks){
			ix->chunks[IMAGE_FILE_BASE + i], ix->nr_chunks[IMAGE_FILE_BASE + i], 1,
		};
}

void index_done(struct index *ix)
{
	int i;

	for (i = 0; i < IMAGE_FILES; i++)
		free(ix->chunks[i]);
	extent_table_done(&ix->memory);
	extent_table_done(&ix->files);
	free(ix->blobs);
	free(ix->tracks);
	memset(ix, 0, sizeof(*ix));
}

/* ----------------------------------------------------------------- check */

static int compare_blobs(const void *a, const void *b)
{
	const struct blob *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

const struct blob *index_find_blob(const struct index *ix, uint64_t id)
{
	struct blob key = { .id = id };

	if (!ix->nr_blobs)
		return NULL;
	return bsearch(&key, ix->blobs, ix->nr_blobs, sizeof(key), compare_blobs);
}

/* Blobs that are kept in pages: they lie within their sizes, and refer to nothing. */
static int check_paged(struct index *ix, struct ckpt_error *error)
{
	const struct extent_table *t = &ix->memory;

	for (size_t i = t->nr; i-- && t->v[i].owner & IMAGE_OWNER_BLOB;) {
		const struct extent *e = &t->v[i];
		struct blob *b = (struct blob *)index_find_blob(ix, e->owner & ~IMAGE_OWNER_BLOB);

		if (!b || e->kind != IMAGE_EXTENT_DATA ||
		    e->start + e->len > ((b->size + IMAGE_PAGE_SIZE - 1) &
					 ~(uint64_t)(IMAGE_PAGE_SIZE - 1)))
			return error_set(error, -EINVAL,
					 "blob %llu: pages at %llu are beyond its end, or no data",
					 (unsigned long long)(e->owner & ~IMAGE_OWNER_BLOB),
					 (unsigned long long)e->start);
		b->paged = true;
	}
	return 0;
}

static int check_blobs(struct index *ix, struct ckpt_error *error)
{
	int err;
	size_t i;

	if (ix->nr_blobs)
		qsort(ix->blobs, ix->nr_blobs, sizeof(*ix->blobs), compare_blobs);
	for (i = 0; i < ix->nr_blobs; i++) {
		if (!ix->blobs[i].id || ix->blobs[i].size > INT64_MAX)
			return error_set(error, -EINVAL,
					       "blob %llu: impossible id or size",
					       (unsigned long long)ix->blobs[i].id);
		if (i && ix->blobs[i].id == ix->blobs[i - 1].id)
			return error_set(error, -EEXIST,
					       "blob %llu is there twice",
					       (unsigned long long)ix->blobs[i].id);
	}
	err = check_paged(ix, error);
	for (i = 0; i < ix->files.nr && !err; i++) {
		const struct extent *e = &ix->files.v[i];
		const struct blob *b = index_find_blob(ix, e->owner);

		if (!b || b->paged || e->start + e->len > b->size)
			return error_set(error, -EINVAL,
					       "blob %llu: data at %llu is beyond its end",
					       (unsigned long long)e->owner,
					       (unsigned long long)e->start);
	}
	return err;
}

int index_check(struct index *ix, const struct extent_chunks *pages,
		const struct extent_chunks *blobs, struct ckpt_error *error)
{
	int err;

	err = extent_table_check(&ix->memory, IMAGE_PAGE_SIZE, pages, error);
	if (err)
		return err;
	err = extent_table_check(&ix->files, 1, blobs, error);
	if (err)
		return err;
	return check_blobs(ix, error);
}

int index_check_chunks(const struct index *ix, enum image_file file,
		       const struct image_file_info *info, bool sealed,
		       struct ckpt_error *error)
{
	const uint32_t sealing = sealed ? IMAGE_SEAL_BYTES : 0;
	uint64_t pos = sizeof(struct image_file_hdr);
	uint64_t raw_len = 0;
	uint64_t i;

	if (!info->name)
		return ix->nr_chunks[file] ?
			error_set(error, -EINVAL, "chunks of a missing file") : 0;
	if (ix->nr_chunks[file] != info->nr_chunks)
		return error_set(error, -EINVAL,
				       "%s: %llu chunks, the manifest says %llu",
				       info->name,
				       (unsigned long long)ix->nr_chunks[file],
				       (unsigned long long)info->nr_chunks);
	for (i = 0; i < info->nr_chunks; i++) {
		const struct image_ix_chunk *c = &ix->chunks[file][i];
		uint32_t raw = le32toh(c->raw_len);
		uint32_t stored = le32toh(c->stored_len);
		uint64_t offset = le64toh(c->offset);

		if ((offset != pos && offset != IMAGE_ALIGN_UP(pos)) || !raw ||
		    raw > IMAGE_CHUNK_MAX || stored <= sealing || stored > raw + sealing)
			return error_set(error, -EINVAL,
					       "%s: chunk %llu: impossible bounds",
					       info->name, (unsigned long long)i);
		pos = offset + CHUNK_OVERHEAD + stored;
		raw_len += raw;
	}
	if (pos != info->len || raw_len != info->raw_len)
		return error_set(error, -EINVAL,
				       "%s: the chunks do not fill it", info->name);
	return 0;
}

/* ----------------------------------------------------------------- write */

static int index_flush(struct buffer *b, struct stream *out)
{
	int err = b->err;

	if (!err)
		err = stream_write(out, b->p, b->len);
	b->len = 0;
	return err;
}

static int write_chunks(enum image_file file, const struct image_ix_chunk *chunks,
			uint64_t nr_chunks, struct buffer *b, struct stream *out)
{
	uint64_t first;
	int err = 0;

	for (first = 0; !err && first < nr_chunks; first += PER_RECORD) {
		uint64_t left = nr_chunks - first;
		uint32_t nr = left < PER_RECORD ? (uint32_t)left : PER_RECORD;
		struct image_ix_chunks rec = {
			.file = htole32(file),
			.nr = htole32(nr),
			.first = htole64(first),
		};

		buffer_put_record(b, IMAGE_IX_CHUNKS, &rec, sizeof(rec),
				  chunks + first, nr * sizeof(*chunks));
		err = index_flush(b, out);
	}
	return err;
}

static int write_extents(const struct extent_table *t, enum image_file file,
			 struct buffer *b, struct stream *out)
{
	struct image_ix_extent *v;
	size_t first, i;
	int err = 0;

	v = calloc(PER_RECORD, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (first = 0; !err && first < t->nr; first += PER_RECORD) {
		size_t nr = t->nr - first < PER_RECORD ? t->nr - first : PER_RECORD;
		struct image_ix_extents rec = {
			.file = htole32(file),
			.nr = htole32((uint32_t)nr),
		};

		for (i = 0; i < nr; i++) {
			const struct extent *e = &t->v[first + i];

			v[i].owner = htole64(e->owner);
			v[i].start = htole64(e->start);
			v[i].len = htole64(e->len);
			v[i].where = htole64(e->where);
			v[i].src = htole64(e->src);
			v[i].kind = htole32(e->kind);
		}
		buffer_put_record(b, IMAGE_IX_EXTENTS, &rec, sizeof(rec), v,
				  nr * sizeof(*v));
		err = index_flush(b, out);
	}
	free(v);
	return err;
}

static int write_blobs(const struct index *ix, struct buffer *b,
		       struct stream *out)
{
	size_t i;

	for (i = 0; i < ix->nr_blobs; i++) {
		struct image_ix_blob rec = {
			.id = htole64(ix->blobs[i].id),
			.size = htole64(ix->blobs[i].size),
		};

		buffer_put_record(b, IMAGE_IX_BLOB, &rec, sizeof(rec), NULL, 0);
	}
	return index_flush(b, out);
}

static int write_tracks(const struct index *ix, struct buffer *b, struct stream *out)
{
	struct image_ix_tracks rec = { .nr = htole32((uint32_t)ix->nr_tracks) };
	struct buffer v = {};
	size_t i;
	int err;

	for (i = 0; i < ix->nr_tracks; i++) {
		struct image_ix_track track = {
			.owner = htole64(ix->tracks[i].owner),
			.token = htole64(ix->tracks[i].token),
		};

		buffer_put(&v, &track, sizeof(track));
	}
	err = v.err;
	if (!err && ix->nr_tracks) {
		buffer_put_record(b, IMAGE_IX_TRACK, &rec, sizeof(rec), v.p, v.len);
		err = index_flush(b, out);
	}
	buffer_done(&v);
	return err;
}

int index_write(const struct index *ix, const struct stream *pages,
		const struct stream *blobs, struct stream *out)
{
	struct buffer b = {};
	int err, i;

	err = write_chunks(IMAGE_FILE_PAGES, pages->chunks, pages->nr_chunks, &b, out);
	if (!err)
		err = write_chunks(IMAGE_FILE_BLOBS, blobs->chunks, blobs->nr_chunks, &b, out);
	for (i = IMAGE_FILE_BASE; !err && i < IMAGE_FILES; i++)
		err = write_chunks((enum image_file)i, ix->chunks[i], ix->nr_chunks[i], &b, out);
	if (!err)
		err = write_extents(&ix->memory, IMAGE_FILE_PAGES, &b, out);
	if (!err)
		err = write_extents(&ix->files, IMAGE_FILE_BLOBS, &b, out);
	if (!err)
		err = write_blobs(ix, &b, out);
	if (!err)
		err = write_tracks(ix, &b, out);
	buffer_done(&b);
	return err;
}

/* ----------------------------------------------------------------- parse */

static int index_bad(struct ckpt_error *error, const char *what)
{
	return error_set(error, -EINVAL, "%s", what);
}

static int parse_chunks(struct index *ix, const struct image_record *rec,
			struct ckpt_error *error)
{
	const struct image_ix_chunks *r = rec->data;
	struct image_ix_chunk *v;
	uint32_t file, nr;
	uint64_t have;

	if (rec->len < sizeof(*r))
		return index_bad(error, "short CHUNKS record");
	file = le32toh(r->file);
	nr = le32toh(r->nr);
	if ((file != IMAGE_FILE_PAGES && file != IMAGE_FILE_BLOBS &&
	     (file < IMAGE_FILE_BASE || file >= IMAGE_FILES)) ||
	    nr > (rec->len - sizeof(*r)) / sizeof(*v))
		return index_bad(error, "impossible CHUNKS record");
	have = ix->nr_chunks[file];
	if (le64toh(r->first) != have)
		return index_bad(error, "CHUNKS records out of order");
	v = reallocarray(ix->chunks[file], have + nr + 1, sizeof(*v));
	if (!v)
		return error_set(error, -ENOMEM, "out of memory");
	memcpy(v + have, r + 1, nr * sizeof(*v));
	ix->chunks[file] = v;
	ix->nr_chunks[file] = have + nr;
	return 0;
}

static int parse_extents(struct index *ix, const struct image_record *rec,
			 struct ckpt_error *error)
{
	const struct image_ix_extents *r = rec->data;
	const struct image_ix_extent *v;
	struct extent_table *t;
	uint32_t file, nr, i;

	if (rec->len < sizeof(*r))
		return index_bad(error, "short EXTENTS record");
	file = le32toh(r->file);
	nr = le32toh(r->nr);
	if ((file != IMAGE_FILE_PAGES && file != IMAGE_FILE_BLOBS) ||
	    nr > (rec->len - sizeof(*r)) / sizeof(*v))
		return index_bad(error, "impossible EXTENTS record");
	t = file == IMAGE_FILE_PAGES ? &ix->memory : &ix->files;
	v = (const struct image_ix_extent *)(r + 1);
	for (i = 0; i < nr; i++) {
		struct extent e = {
			.owner = le64toh(v[i].owner),
			.start = le64toh(v[i].start),
			.len = le64toh(v[i].len),
			.where = le64toh(v[i].where),
			.src = le64toh(v[i].src),
			.kind = le32toh(v[i].kind),
		};

		if (v[i].pad)
			return index_bad(error, "padding is not zero");
		if (extent_table_add(t, &e))
			return error_set(error, -ENOMEM, "out of memory");
	}
	return 0;
}

static int parse_blob(struct index *ix, const struct image_record *rec,
		      struct ckpt_error *error)
{
	const struct image_ix_blob *r = rec->data;

	if (rec->len < sizeof(*r))
		return index_bad(error, "short BLOB record");
	if (index_add_blob(ix, le64toh(r->id), le64toh(r->size)))
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

static int parse_tracks(struct index *ix, const struct image_record *rec,
			struct ckpt_error *error)
{
	const struct image_ix_tracks *r = rec->data;
	const struct image_ix_track *v;
	uint32_t nr, i;

	if (rec->len < sizeof(*r))
		return index_bad(error, "short TRACK record");
	nr = le32toh(r->nr);
	if (nr > (rec->len - sizeof(*r)) / sizeof(*v))
		return index_bad(error, "impossible TRACK record");
	v = (const struct image_ix_track *)(r + 1);
	for (i = 0; i < nr; i++)
		if (index_add_track(ix, le64toh(v[i].owner), le64toh(v[i].token)))
			return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

int index_parse(struct index *ix, const struct image_record *rec,
		struct ckpt_error *error)
{
	switch (rec->type) {
	case IMAGE_IX_CHUNKS:
		return parse_chunks(ix, rec, error);
	case IMAGE_IX_EXTENTS:
		return parse_extents(ix, rec, error);
	case IMAGE_IX_BLOB:
		return parse_blob(ix, rec, error);
	case IMAGE_IX_TRACK:
		return parse_tracks(ix, rec, error);
	default:
		if (rec->type & IMAGE_REC_OPTIONAL)
			return 0;
		return error_set(error, -EPROTONOSUPPORT,
				       "unknown record type %u: written by a newer version",
				       rec->type);
	}
}
