// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adding memory and file contents to an image.
 *
 * Data goes to the stream of its kind, and an extent in the index records its
 * position.  Zeros are found here, so that no caller has to look for them: in
 * memory they become extents (a page of zeros is not the same as no page), in
 * blobs holes.
 *
 * Overlapping pages and references to nothing are found once, at the commit
 * (index_check()).
 */
#include <errno.h>
#include <string.h>

#include "image/writer_priv.h"

static bool writer_data_is_zero(const uint8_t *p, size_t len)
{
	/* the first byte, then everything against its neighbour */
	return p[0] == 0 && !memcmp(p, p + 1, len - 1);
}

/* ---------------------------------------------------------------- memory */

int image_check_range(struct image *img, uint64_t mm_id, uint64_t addr,
		      uint64_t nr_pages)
{
	if (img->err)
		return img->err;
	if (!mm_id || addr % IMAGE_PAGE_SIZE || !nr_pages ||
	    nr_pages > (UINT64_MAX - addr) / IMAGE_PAGE_SIZE)
		return image_fail(img, -EINVAL,
				  "pages: impossible range %llu:0x%llx, %llu pages",
				  (unsigned long long)mm_id,
				  (unsigned long long)addr,
				  (unsigned long long)nr_pages);
	return 0;
}

static int add_extent(struct image *img, struct extent_table *t,
		      const struct extent *e)
{
	if (extent_table_add(t, e))
		return image_fail(img, -ENOMEM, "index: out of memory");
	return 0;
}

int image_add_extent(struct image *img, const struct extent *e)
{
	return add_extent(img, &img->index.memory, e);
}

/* Put bytes into @file's stream, cut where chunks end, with an extent for each piece. */
static int writer_data_store(struct image *img, enum image_file file, uint64_t owner,
			     uint64_t start, const uint8_t *data, size_t len)
{
	struct extent_table *t = file == IMAGE_FILE_PAGES ?
				 &img->index.memory : &img->index.files;
	struct stream *s = image_stream(img, file);

	if (!s)
		return img->err;
	while (len) {
		struct extent e = {
			.owner = owner,
			.start = start,
			.kind = IMAGE_EXTENT_DATA,
		};
		size_t n;
		int err;

		err = stream_put(s, data, len, &e.where, &n);
		if (err)
			return image_stream_failed(img, file, err);
		e.len = n;
		err = add_extent(img, t, &e);
		if (err)
			return err;
		start += n;
		data += n;
		len -= n;
	}
	return 0;
}

/* Add pages that equal those stored at @where, with an extent for each chunk. */
static int add_same(struct image *img, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		    uint64_t where)
{
	uint64_t len = nr_pages * IMAGE_PAGE_SIZE;
	int err = 0;

	img->manifest.counts.pages_same += nr_pages;
	while (len && !err) {
		uint64_t n = IMAGE_CHUNK_MAX - where % IMAGE_CHUNK_MAX;
		struct extent e = {
			.owner = mm_id,
			.start = addr,
			.len = n < len ? n : len,
			.where = where,
			.kind = IMAGE_EXTENT_DATA,
		};

		err = add_extent(img, &img->index.memory, &e);
		addr += e.len;
		where += e.len;
		len -= e.len;
	}
	return err;
}

/* Add pages with data; pages that equal earlier ones are not stored again. */
static int add_data(struct image *img, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		    const uint8_t *data)
{
	int err = 0;

	img->manifest.counts.pages_data += nr_pages;
	while (nr_pages && !err) {
		struct same_pages pages = { mm_id, addr, nr_pages, data };
		struct same_match match;
		uint64_t done;

		if (!img->same || !same_find(img->same, &img->index.memory, &pages, &match))
			match = (struct same_match){ .first = nr_pages };
		err = writer_data_store(img, IMAGE_FILE_PAGES, mm_id, addr, data,
					match.first * IMAGE_PAGE_SIZE);
		if (!err && match.nr)
			err = add_same(img, mm_id, addr + match.first * IMAGE_PAGE_SIZE,
				       match.nr, match.where);
		done = match.first + match.nr;
		addr += done * IMAGE_PAGE_SIZE;
		data += done * IMAGE_PAGE_SIZE;
		nr_pages -= done;
	}
	return err;
}

static int add_zero(struct image *img, uint64_t mm_id, uint64_t addr,
		    uint64_t nr_pages)
{
	struct extent e = {
		.owner = mm_id,
		.start = addr,
		.len = nr_pages * IMAGE_PAGE_SIZE,
		.kind = IMAGE_EXTENT_ZERO,
	};

	img->manifest.counts.pages_zero += nr_pages;
	return add_extent(img, &img->index.memory, &e);
}

/* Count the pages, from the first on, that are all zero (@zero), or all not zero. */
static uint64_t count_alike(const uint8_t *p, uint64_t nr_pages, bool zero)
{
	uint64_t n = 1;

	while (n < nr_pages &&
	       writer_data_is_zero(p + n * IMAGE_PAGE_SIZE, IMAGE_PAGE_SIZE) == zero)
		n++;
	return n;
}

int image_pages_add(struct image *img, uint64_t mm_id, uint64_t addr,
		    uint64_t nr_pages, const void *data)
{
	const uint8_t *p = data;
	int err;

	err = image_check_range(img, mm_id, addr, nr_pages);
	while (!err && nr_pages) {
		bool zero = writer_data_is_zero(p, IMAGE_PAGE_SIZE);
		uint64_t n = count_alike(p, nr_pages, zero);
		size_t len = n * IMAGE_PAGE_SIZE;

		err = zero ? add_zero(img, mm_id, addr, n) : add_data(img, mm_id, addr, n, p);
		addr += len;
		p += len;
		nr_pages -= n;
	}
	return err;
}

int image_room_get(struct image *img, struct image_room *ret_room)
{
	const struct stream *s = &img->streams[IMAGE_FILE_PAGES];
	struct chunk_room room = chunk_pool_get(&img->pool, stream_is_long(s));

	if (!room.p)
		return -ENOMEM;
	*ret_room = (struct image_room){
		chunk_payload(room.p), chunk_room_bytes(&room), room.lent,
	};
	return 0;
}

static struct chunk_room chunk_of(const struct image_room *room)
{
	return (struct chunk_room){
		room->p ? chunk_of_payload(room->p) : NULL, room->lent,
	};
}

int image_room_use(struct image *img, struct image_room *room)
{
	struct stream *s = &img->streams[IMAGE_FILE_PAGES];
	struct chunk_room chunk = chunk_of(room);
	int err = img->err;

	/* until data is stored, leave the stream unopened: perhaps no data will ever be stored */
	if (err || !s->wfile || !room->p)
		return err;
	err = stream_adopt(s, &chunk);
	if (!chunk.p)
		room->p = NULL;
	return err ? image_stream_failed(img, IMAGE_FILE_PAGES, err) : 0;
}

void image_room_put(struct image *img, struct image_room *room)
{
	struct chunk_room chunk = chunk_of(room);

	room->p = NULL;
	chunk_pool_put(&img->pool, &chunk);
}

int image_pages_zero(struct image *img, uint64_t mm_id, uint64_t addr,
		     uint64_t nr_pages)
{
	int err = image_check_range(img, mm_id, addr, nr_pages);

	return err ? err : add_zero(img, mm_id, addr, nr_pages);
}

int image_pages_ref(struct image *img, uint64_t mm_id, uint64_t addr,
		    uint64_t nr_pages, uint64_t src_mm_id, uint64_t src_addr)
{
	struct extent e = {
		.owner = mm_id,
		.start = addr,
		.len = nr_pages * IMAGE_PAGE_SIZE,
		.where = src_addr,
		.src = src_mm_id,
		.kind = IMAGE_EXTENT_REF,
	};
	int err;

	err = image_check_range(img, mm_id, addr, nr_pages);
	if (!err)
		err = image_check_range(img, src_mm_id, src_addr, nr_pages);
	if (err)
		return err;
	img->manifest.counts.pages_ref += nr_pages;
	return add_extent(img, &img->index.memory, &e);
}

/* ----------------------------------------------------------------- blobs */

int image_blob_begin(struct image *img, uint64_t blob_id)
{
	if (img->err)
		return img->err;
	if (!blob_id || img->blob_open)
		return image_fail(img, -EINVAL,
				  "blobs: %llu begun inside another, or without an id",
				  (unsigned long long)blob_id);
	img->blob_open = true;
	img->blob_paged = false;
	img->blob_id = blob_id;
	img->blob_end = 0;
	return 0;
}

int image_blob_in_pages(struct image *img)
{
	if (img->err)
		return img->err;
	if (!img->blob_open || img->blob_end)
		return image_fail(img, -EINVAL, "blobs: too late to keep one in pages");
	img->blob_paged = true;
	img->manifest.paged = true;
	return 0;
}

/* Add bytes of a blob in pages; zeros fill the last page. */
static int blob_store_pages(struct image *img, uint64_t offset, const uint8_t *p, size_t len)
{
	uint64_t owner = IMAGE_OWNER_BLOB | img->blob_id;
	size_t rest = len % IMAGE_PAGE_SIZE;
	uint8_t last[IMAGE_PAGE_SIZE] = { 0 };
	int err = 0;

	if (offset % IMAGE_PAGE_SIZE)
		return image_fail(img, -EINVAL, "blobs: %llu: offset %llu is within a page",
				  (unsigned long long)img->blob_id, (unsigned long long)offset);
	img->manifest.counts.pages_data += (len + IMAGE_PAGE_SIZE - 1) / IMAGE_PAGE_SIZE;
	if (len - rest)
		err = writer_data_store(img, IMAGE_FILE_PAGES, owner, offset, p, len - rest);
	if (err || !rest)
		return err;
	memcpy(last, p + len - rest, rest);
	return writer_data_store(img, IMAGE_FILE_PAGES, owner, offset + len - rest, last,
				 sizeof(last));
}

static int blob_store(struct image *img, uint64_t offset, const uint8_t *p, size_t len)
{
	if (img->blob_paged)
		return blob_store_pages(img, offset, p, len);
	img->manifest.counts.blob_data += len;
	return writer_data_store(img, IMAGE_FILE_BLOBS, img->blob_id, offset, p, len);
}

/* The number of bytes up to the next offset where a hole may begin or end. */
static size_t piece_len(uint64_t offset, size_t len)
{
	size_t n = IMAGE_PAGE_SIZE - offset % IMAGE_PAGE_SIZE;

	return n < len ? n : len;
}

int image_blob_append(struct image *img, uint64_t offset, const void *data,
		      size_t len)
{
	const uint8_t *p = data;
	int err = 0;

	if (img->err)
		return img->err;
	if (!img->blob_open || offset < img->blob_end || offset > INT64_MAX ||
	    len > INT64_MAX - offset)
		return image_fail(img, -EINVAL,
				  "blobs: %llu: offset %llu out of order",
				  (unsigned long long)img->blob_id,
				  (unsigned long long)offset);
	img->blob_end = offset + len;
	while (len && !err) {
		size_t n = piece_len(offset, len);

		if (writer_data_is_zero(p, n)) {
			offset += n, p += n, len -= n;
			continue;
		}
		while (n < len) {
			size_t more = piece_len(offset + n, len - n);

			if (writer_data_is_zero(p + n, more))
				break;
			n += more;
		}
		err = blob_store(img, offset, p, n);
		offset += n;
		p += n;
		len -= n;
	}
	return err;
}

int image_blob_end(struct image *img, uint64_t size)
{
	if (img->err)
		return img->err;
	if (!img->blob_open || size < img->blob_end || size > INT64_MAX)
		return image_fail(img, -EINVAL,
				  "blobs: %llu: ended at %llu, before its data",
				  (unsigned long long)img->blob_id,
				  (unsigned long long)size);
	img->blob_open = false;
	if (index_add_blob(&img->index, img->blob_id, size))
		return image_fail(img, -ENOMEM, "index: out of memory");
	img->manifest.counts.nr_blobs++;
	img->manifest.counts.blob_bytes += size;
	return 0;
}
