// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads memory and file contents from an image.
 *
 * The index was checked as a whole when the image was opened, so extents are
 * followed without further tests: positions lie in chunks that exist, references
 * lead to data or zeros in one step.  Contents are read through the cache of decoded
 * chunks.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "image/reader_priv.h"

#define ZERO_PAGES	16U
#define BASE_SHIFT	48	/* chunks of bases have numbers of their own */

static const uint8_t zeros[ZERO_PAGES * IMAGE_PAGE_SIZE]
	__attribute__((aligned(IMAGE_PAGE_SIZE)));

/* ---------------------------------------------------------------- memory */

int image_mm_next(struct image_reader *r, uint64_t *mm_id)
{
	const struct extent_table *t = &r->index.memory;
	size_t lo = 0, hi = t->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].owner <= *mm_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* behind the memory maps are blobs */
	if (lo == t->nr || t->v[lo].owner & IMAGE_OWNER_BLOB)
		return 0;
	*mm_id = t->v[lo].owner;
	return 1;
}

int image_pages_next(struct image_reader *r, uint64_t mm_id, uint64_t *cursor,
		     struct image_run *ret_run)
{
	const struct extent_table *t = &r->index.memory;
	const struct extent *e = extent_table_find(t, mm_id, *cursor);
	uint64_t start, end;

	if (!e)
		return 0;
	start = e->start > *cursor ? e->start : *cursor & ~(uint64_t)(IMAGE_PAGE_SIZE - 1);
	ret_run->addr = start;
	ret_run->kind = (enum image_run_kind)e->kind;
	ret_run->src_mm_id = e->src;
	ret_run->src_addr = e->kind == IMAGE_EXTENT_REF ?
			    e->where + (start - e->start) : 0;
	while (e + 1 < t->v + t->nr && extent_joins(e, e + 1))
		e++;
	end = e->start + e->len;
	ret_run->nr_pages = (end - start) / IMAGE_PAGE_SIZE;
	*cursor = end;
	return 1;
}

uint64_t image_tracked(const struct image_reader *r, uint64_t token)
{
	const struct index *ix = &r->index;
	size_t i;

	for (i = 0; i < ix->nr_tracks; i++)
		if (token && ix->tracks[i].token == token)
			return ix->tracks[i].owner;
	return 0;
}

const struct extent *reader_resolve(const struct image_reader *r, uint64_t mm_id,
				    uint64_t addr, uint64_t *ret_offset,
				    uint64_t *ret_len)
{
	const struct extent_table *t = &r->index.memory;
	const struct extent *e = extent_table_find(t, mm_id, addr);
	uint64_t len;

	if (!e || e->start > addr)
		return NULL;
	len = e->start + e->len - addr;
	if (e->kind == IMAGE_EXTENT_REF) {
		addr = e->where + (addr - e->start);
		e = extent_table_find(t, e->src, addr);
		if (e->start + e->len - addr < len)
			len = e->start + e->len - addr;
	}
	*ret_offset = addr - e->start;
	*ret_len = len;
	return e;
}

/* As reader_resolve(), but check the caller's numbers first. */
static int resolve_checked(struct image_reader *r, uint64_t mm_id, uint64_t addr,
			   uint64_t nr_pages, const struct extent **ret_extent,
			   uint64_t *ret_offset, uint64_t *ret_len)
{
	if (addr % IMAGE_PAGE_SIZE || !nr_pages)
		return fault_set(&r->fault, -EINVAL, "pages", 0,
				 "0x%llx is not a page", (unsigned long long)addr);
	*ret_extent = reader_resolve(r, mm_id, addr, ret_offset, ret_len);
	if (*ret_extent)
		return 0;
	return fault_set(&r->fault, -ENOENT, "pages", 0,
			 "no page 0x%llx of memory map %llu",
			 (unsigned long long)addr, (unsigned long long)mm_id);
}

int image_pages_chunk(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		      uint64_t *nr_pages, uint64_t *ret_chunk)
{
	const struct extent *e;
	uint64_t offset, len;
	int err = resolve_checked(r, mm_id, addr, *nr_pages, &e, &offset, &len);

	if (err)
		return err;
	*ret_chunk = e->kind == IMAGE_EXTENT_ZERO ? IMAGE_NO_CHUNK :
		     e->src << BASE_SHIFT | (e->where + offset) / IMAGE_CHUNK_MAX;
	if (*nr_pages > len / IMAGE_PAGE_SIZE)
		*nr_pages = len / IMAGE_PAGE_SIZE;
	return 0;
}

void image_pages_until(struct image_reader *r, uint64_t last, bool in_order)
{
	const struct index *ix = &r->index;
	/* with bases, @last in this image's file does not limit what is read of the bases' files */
	bool any = r->m->nr_bases || last == IMAGE_NO_CHUNK ||
		   last >= ix->nr_chunks[IMAGE_FILE_PAGES];

	window_limit(&r->window, any ? UINT64_MAX :
		     reader_chunk_end(&ix->chunks[IMAGE_FILE_PAGES][last]), in_order);
}

int image_pages_peek(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		     uint64_t *nr_pages, const void **ret_data)
{
	const struct cached_chunk *chunk;
	const struct extent *e;
	uint64_t offset, len, where;
	int err = resolve_checked(r, mm_id, addr, *nr_pages, &e, &offset, &len);

	if (err)
		return err;
	if (e->kind == IMAGE_EXTENT_ZERO) {
		*ret_data = zeros;
		if (len > sizeof(zeros))
			len = sizeof(zeros);
	} else {
		where = e->where + offset;
		err = reader_cached(r, reader_file_of(e), where / IMAGE_CHUNK_MAX, &chunk);
		if (err)
			return err;
		*ret_data = chunk->raw + where % IMAGE_CHUNK_MAX;
	}
	if (*nr_pages > len / IMAGE_PAGE_SIZE)
		*nr_pages = len / IMAGE_PAGE_SIZE;
	return 0;
}

int image_pages_read(struct image_reader *r, uint64_t mm_id, uint64_t addr,
		     uint64_t nr_pages, void *buf)
{
	uint8_t *p = buf;

	while (nr_pages) {
		uint64_t n = nr_pages;
		const void *data;
		int err;

		err = image_pages_peek(r, mm_id, addr, &n, &data);
		if (err)
			return err;
		memcpy(p, data, n * IMAGE_PAGE_SIZE);
		p += n * IMAGE_PAGE_SIZE;
		addr += n * IMAGE_PAGE_SIZE;
		nr_pages -= n;
	}
	return 0;
}

/* ----------------------------------------------------------------- blobs */

static int no_blob(struct image_reader *r, uint64_t blob_id)
{
	return fault_set(&r->fault, -ENOENT, "blobs", 0, "there is no blob %llu",
			 (unsigned long long)blob_id);
}

int image_blob_next(struct image_reader *r, uint64_t *blob_id, uint64_t *ret_size)
{
	const struct index *ix = &r->index;
	size_t lo = 0, hi = ix->nr_blobs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->blobs[mid].id <= *blob_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == ix->nr_blobs)
		return 0;
	*blob_id = ix->blobs[lo].id;
	*ret_size = ix->blobs[lo].size;
	return 1;
}

int image_blob_size(struct image_reader *r, uint64_t blob_id, uint64_t *ret_size)
{
	const struct blob *b = index_find_blob(&r->index, blob_id);

	if (!b)
		return no_blob(r, blob_id);
	*ret_size = b->size;
	return 0;
}

/* The first extent of the blob that ends behind @pos, and the table that has it. */
static const struct extent *blob_find(const struct image_reader *r, const struct blob *b,
				      uint64_t pos, const struct extent_table **ret_table)
{
	*ret_table = b->paged ? &r->index.memory : &r->index.files;
	return extent_table_find(*ret_table, b->paged ? IMAGE_OWNER_BLOB | b->id : b->id, pos);
}

int image_blob_extent(struct image_reader *r, uint64_t blob_id, uint64_t *cursor,
		      uint64_t *ret_offset, uint64_t *ret_len)
{
	const struct blob *b = index_find_blob(&r->index, blob_id);
	const struct extent_table *t;
	const struct extent *e;
	uint64_t start, end;

	if (!b)
		return no_blob(r, blob_id);
	e = blob_find(r, b, *cursor, &t);
	while (e && e->kind != IMAGE_EXTENT_DATA)
		e = blob_find(r, b, e->start + e->len, &t);
	if (!e)
		return 0;
	start = e->start > *cursor ? e->start : *cursor;
	while (e + 1 < t->v + t->nr && extent_joins(e, e + 1))
		e++;
	end = e->start + e->len;
	*cursor = end;
	*ret_offset = start;
	/* zeros fill the last page of a blob in pages */
	*ret_len = (end < b->size ? end : b->size) - start;
	return *ret_len ? 1 : 0;
}

bool image_blob_paged_in(const struct image_reader *r, uint64_t blob_id)
{
	const struct blob *b = index_find_blob(&r->index, blob_id);

	return b && b->paged;
}

/* Read from [offset, offset + len) as much as lies in one extent or hole. */
static int read_piece(struct image_reader *r, const struct blob *b, uint64_t offset,
		      uint8_t *buf, size_t len, size_t *ret_len)
{
	const struct extent_table *t;
	const struct extent *e = blob_find(r, b, offset, &t);
	const struct cached_chunk *chunk;
	uint64_t where;
	int err;

	if (!e || e->start > offset || e->kind == IMAGE_EXTENT_ZERO) {
		uint64_t end = !e ? offset + len :
			       e->start > offset ? e->start : e->start + e->len;

		if (len > end - offset)
			len = end - offset;
		memset(buf, 0, len);
		*ret_len = len;
		return 0;
	}
	where = e->where + (offset - e->start);
	if (len > e->start + e->len - offset)
		len = e->start + e->len - offset;
	err = reader_cached(r, b->paged ? reader_file_of(e) : IMAGE_FILE_BLOBS,
			    where / IMAGE_CHUNK_MAX, &chunk);
	if (err)
		return err;
	memcpy(buf, chunk->raw + where % IMAGE_CHUNK_MAX, len);
	*ret_len = len;
	return 0;
}

int image_blob_read(struct image_reader *r, uint64_t blob_id, uint64_t offset,
		    void *buf, size_t len)
{
	const struct blob *b = index_find_blob(&r->index, blob_id);
	uint8_t *p = buf;

	if (!b)
		return no_blob(r, blob_id);
	if (offset > b->size || len > b->size - offset)
		return fault_set(&r->fault, -ERANGE, "blobs", offset,
				 "beyond the end of blob %llu",
				 (unsigned long long)blob_id);
	while (len) {
		size_t n;
		int err;

		err = read_piece(r, b, offset, p, len, &n);
		if (err)
			return err;
		p += n;
		offset += n;
		len -= n;
	}
	return 0;
}
