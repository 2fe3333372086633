// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where every byte of an image went.
 *
 * Files are divided by their lengths and by the tables of chunks in the index; the rest of a
 * file is gaps.  No file is read.  If several extents have the same data, one counts it as own
 * and the others as same; so the shares of all maps in a chunk add up to the chunk.
 *
 * Must not be asked for pages of an image that is locked: its index is not known.
 */
#include "image/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "image/reader_priv.h"

/* ----------------------------------------------------------------- files */

static bool is_sealed(const struct image_manifest *m, unsigned int file)
{
	return file >= IMAGE_FILE_BASE ? m->bases[file - IMAGE_FILE_BASE].encrypted : m->encrypted;
}

/* Payload bytes of the chunks of @file that the index lists; state and index have no gaps. */
static uint64_t payload_of(const struct image_reader *r, unsigned int file, uint64_t rest)
{
	const struct image_ix_chunk *chunks = r->index.chunks[file];
	uint64_t i, sum = 0;

	if (!chunks)
		return rest;
	for (i = 0; i < r->index.nr_chunks[file]; i++)
		sum += le32toh(chunks[i].stored_len);
	return is_sealed(r->m, file) ? sum - r->index.nr_chunks[file] * IMAGE_SEAL_BYTES : sum;
}

static void add_file(const struct image_reader *r, unsigned int file, struct account_files *sums)
{
	uint64_t *const kinds[IMAGE_FILE__COUNT] = {
		[IMAGE_FILE_STATE] = &sums->state, [IMAGE_FILE_INDEX] = &sums->index,
		[IMAGE_FILE_PAGES] = &sums->pages, [IMAGE_FILE_BLOBS] = &sums->contents,
	};
	const struct image_file_info *info = &r->m->files[file];
	uint64_t headers = sizeof(struct image_file_hdr) +
			   info->nr_chunks * sizeof(struct image_chunk_hdr);
	uint64_t tags = info->nr_chunks * IMAGE_TAG_BYTES;
	uint64_t seals = is_sealed(r->m, file) ? info->nr_chunks * IMAGE_SEAL_BYTES : 0;
	uint64_t rest = info->len - headers - tags - seals;
	uint64_t payload = payload_of(r, file, rest);

	sums->headers += headers;
	sums->tags += tags;
	sums->seals += seals;
	sums->gaps += rest - payload;
	*(file < IMAGE_FILE__COUNT ? kinds[file] : &sums->base) += payload;
	sums->total += info->len;
}

void account_files(const struct image_reader *r, struct account_files *ret_sums)
{
	const struct image_manifest *m = r->m;
	uint64_t own = 0;
	unsigned int i;

	*ret_sums = (struct account_files){ 0 };
	for (i = 1; i < IMAGE_FILES; i++) {
		if (!m->files[i].name)
			continue;
		add_file(r, i, ret_sums);
		own += i < IMAGE_FILE_BASE ? m->files[i].len : 0;
	}
	ret_sums->manifest = m->counts.bytes_stored - own;
	ret_sums->total += ret_sums->manifest;
}

/* ---------------------------------------------------------------- memory */

static size_t account_position(const struct account_maps *maps, uint64_t mm_id)
{
	size_t low = 0, high = maps->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (maps->v[mid].mm_id < mm_id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct account_map *account_find(struct account_maps *maps, uint64_t mm_id)
{
	size_t at = account_position(maps, mm_id);

	if (at < maps->nr && maps->v[at].mm_id == mm_id)
		return &maps->v[at];
	if (maps->nr == maps->room) {
		size_t room = maps->room ? maps->room * 2 : 16;
		struct account_map *v = reallocarray(maps->v, room, sizeof(*v));

		if (!v)
			return NULL;
		maps->v = v;
		maps->room = room;
	}
	memmove(&maps->v[at + 1], &maps->v[at], (maps->nr++ - at) * sizeof(*maps->v));
	maps->v[at] = (struct account_map){ .mm_id = mm_id };
	return &maps->v[at];
}

void account_maps_done(struct account_maps *maps)
{
	free(maps->v);
	*maps = (struct account_maps){ 0 };
}

/* Order by the position of the data; with the same data, by order in the index. */
static int by_place(const void *a, const void *b)
{
	const struct extent *x = *(const struct extent *const *)a;
	const struct extent *y = *(const struct extent *const *)b;

	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The share of raw bytes @from to @to in a chunk's payload; all shares add up to the payload. */
static uint64_t account_share(const struct image_reader *r, uint64_t from, uint64_t to)
{
	const struct image_ix_chunk *chunk =
		&r->index.chunks[IMAGE_FILE_PAGES][from / IMAGE_CHUNK_MAX];
	uint64_t raw = le32toh(chunk->raw_len);
	uint64_t stored = le32toh(chunk->stored_len) - (r->m->encrypted ? IMAGE_SEAL_BYTES : 0);

	from %= IMAGE_CHUNK_MAX;
	to = (to - 1) % IMAGE_CHUNK_MAX + 1;
	return to * stored / raw - from * stored / raw;
}

/* @own: data of this image, in order of place */
static int add_own(const struct image_reader *r, struct account_maps *maps,
		   const struct extent **own, size_t nr)
{
	uint64_t had = 0;	/* all places before it */

	for (size_t i = 0; i < nr; i++) {
		struct account_map *map = account_find(maps, own[i]->owner);
		uint64_t from = own[i]->where > had ? own[i]->where : had;
		uint64_t to = own[i]->where + own[i]->len;

		if (!map)
			return -ENOMEM;
		if (from >= to) {
			map->same += own[i]->len;
			continue;
		}
		map->own += to - from;
		map->same += own[i]->len - (to - from);
		map->stored += account_share(r, from, to);
		had = to;
	}
	return 0;
}

int account_pages(const struct image_reader *r, struct account_maps *ret_maps)
{
	const struct extent_table *t = &r->index.memory;
	_cleanup_free_ const struct extent **own = calloc(t->nr + 1, sizeof(*own));
	struct account_maps maps = { 0 };
	size_t i, nr = 0;
	int err = own ? 0 : -ENOMEM;

	for (i = 0; i < t->nr && !err; i++) {
		const struct extent *e = &t->v[i];
		struct account_map *map;

		if (e->owner & IMAGE_OWNER_BLOB)	/* no memory map: a blob in pages */
			break;
		map = account_find(&maps, e->owner);
		if (!map)
			err = -ENOMEM;
		else if (e->kind == IMAGE_EXTENT_ZERO)
			map->zero += e->len;
		else if (e->kind != IMAGE_EXTENT_DATA)
			map->shared += e->len;
		else if (e->src)
			map->base += e->len;
		else
			own[nr++] = e;
	}
	if (!err) {
		qsort(own, nr, sizeof(*own), by_place);
		err = add_own(r, &maps, own, nr);
	}
	if (err)
		account_maps_done(&maps);
	else
		*ret_maps = maps;
	return err;
}

/* How much of [start, end) has extents. */
static uint64_t account_covered(const struct extent_table *t, uint64_t mm_id, uint64_t start,
				uint64_t end)
{
	const struct extent *e = extent_table_find(t, mm_id, start);
	uint64_t sum = 0;

	for (; e && e < t->v + t->nr && e->owner == mm_id && e->start < end; e++) {
		uint64_t from = e->start > start ? e->start : start;
		uint64_t to = e->start + e->len;

		sum += (to < end ? to : end) - from;
	}
	return sum;
}

int account_vma(const struct image_reader *r, struct account_maps *maps,
		const struct ckpt_rec_vma *vma)
{
	struct account_map *map = account_find(maps, vma->mm_id);
	uint64_t len = vma->end - vma->start;
	uint64_t rest = len - account_covered(&r->index.memory, vma->mm_id, vma->start, vma->end);

	if (!map)
		return -ENOMEM;
	map->nr_vmas++;
	map->mapped += len;
	switch (vma->kind) {
	case CKPT_VMA_FILE_PRIVATE:
		map->file += rest;
		break;
	case CKPT_VMA_FILE_SHARED:
	case CKPT_VMA_SHM:
	case CKPT_VMA_SYSV:
	case CKPT_VMA_HUGETLB_SHARED:
		map->elsewhere += rest;
		break;
	case CKPT_VMA_VDSO:
	case CKPT_VMA_VVAR:
	case CKPT_VMA_VSYSCALL:
	case CKPT_VMA_AIO:
	case CKPT_VMA_URING:
		map->kernel += rest;
		break;
	default:
		map->untouched += rest;
	}
	return 0;
}

struct account_map account_sum(const struct account_maps *maps)
{
	struct account_map sum = { 0 };

	for (size_t i = 0; i < maps->nr; i++) {
		const struct account_map *m = &maps->v[i];

		sum.mapped += m->mapped;
		sum.nr_vmas += m->nr_vmas;
		sum.stored += m->stored;
		sum.own += m->own;
		sum.same += m->same;
		sum.base += m->base;
		sum.zero += m->zero;
		sum.shared += m->shared;
		sum.untouched += m->untouched;
		sum.file += m->file;
		sum.elsewhere += m->elsewhere;
		sum.kernel += m->kernel;
	}
	return sum;
}
