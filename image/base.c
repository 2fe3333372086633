// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image on top of an earlier one.
 *
 * Memory that the earlier image has is not stored again: the new image gets hard links
 * to that image's file of pages, and to the page files of that image's own bases.  So an
 * image never depends on a directory that is not its own, and the pages of a removed
 * image live on in the images that need them, for as long as they do.
 *
 * Owns the reader of the base.  Extents are taken from its index as it is when it
 * was opened and checked, so their positions need no other test than the index's own
 * at the commit.  Bases are numbered from the latest to the oldest: those of the base
 * move up by one, and bases of which no page is needed are dropped at the commit.
 *
 * Must not read pages: that is the reader's.
 */
#include <errno.h>
#include <string.h>

#include "image/base.h"
#include "base/error.h"
#include "image/reader_priv.h"
#include "image/writer_priv.h"

int image_base_fits(const struct image_manifest *m, unsigned int max, struct ckpt_error *error)
{
	uint64_t held = m->files[IMAGE_FILE_PAGES].raw_len;
	uint64_t needed = m->counts.pages_data * IMAGE_PAGE_SIZE;
	unsigned int i;

	if (m->nr_bases >= max || m->nr_bases >= IMAGE_BASES_MAX)
		return error_set(error, -EMLINK, "it stands on %u others already",
				       m->nr_bases);
	for (i = 0; i < m->nr_bases; i++)
		held += m->files[IMAGE_FILE_BASE + i].raw_len;
	if (held / 2 > needed)
		return error_set(error, -EFBIG,
				 "more than half of what it stands on is not needed any more");
	return 0;
}

/* File @from of the base becomes base number @to of the image. */
static int take_file(struct image *img, const struct image_reader *r, enum image_file from,
		     unsigned int to)
{
	const enum image_file file = (enum image_file)(IMAGE_FILE_BASE + to);
	const struct image_base *own = from >= IMAGE_FILE_BASE ?
				       &r->m->bases[from - IMAGE_FILE_BASE] : NULL;
	struct image_base *base = &img->manifest.bases[to];
	size_t len = r->index.nr_chunks[from] * sizeof(struct image_ix_chunk);
	int err;

	img->index.chunks[file] = malloc(len ? len : 1);
	if (!img->index.chunks[file])
		return -ENOMEM;
	if (len)
		memcpy(img->index.chunks[file], r->index.chunks[from], len);
	img->index.nr_chunks[file] = r->index.nr_chunks[from];
	err = img->writer->ops->link(img->writer, r->dir, image_file_names[from],
				     image_file_names[file]);
	if (err)
		return err;
	img->manifest.files[file] = r->m->files[from];
	img->manifest.files[file].name = image_file_names[file];
	img->manifest.nr_bases = to + 1;
	if (own) {
		*base = *own;
		return 0;
	}
	memcpy(base->id, r->m->id, sizeof(base->id));
	base->generation = r->m->generation;
	base->version = r->m->version;
	base->encrypted = r->m->encrypted;
	return 0;
}

static void drop_file(struct image *img, unsigned int nr)
{
	const enum image_file file = (enum image_file)(IMAGE_FILE_BASE + nr);

	free(img->index.chunks[file]);
	img->index.chunks[file] = NULL;
	img->index.nr_chunks[file] = 0;
	memset(&img->manifest.files[file], 0, sizeof(img->manifest.files[file]));
	memset(&img->manifest.bases[nr], 0, sizeof(img->manifest.bases[nr]));
}

static int take_files(struct image *img, const struct image_reader *r)
{
	unsigned int i;
	int err;

	if (!img->writer->ops->link)
		return -EOPNOTSUPP;
	/* The base itself may have stored no page. */
	img->base_shift = r->m->files[IMAGE_FILE_PAGES].name ? 1 : 0;
	err = img->base_shift ? take_file(img, r, IMAGE_FILE_PAGES, 0) : 0;
	for (i = 0; !err && i < r->m->nr_bases; i++)
		err = take_file(img, r, (enum image_file)(IMAGE_FILE_BASE + i),
				i + img->base_shift);
	if (!err)
		return 0;
	for (i = 0; i < IMAGE_BASES_MAX; i++) {
		if (i < img->manifest.nr_bases)
			img->writer->ops->remove(img->writer,
						 image_file_names[IMAGE_FILE_BASE + i]);
		drop_file(img, i);
	}
	img->manifest.nr_bases = 0;
	return err;
}

int image_base(struct image *img, const char *dir, unsigned int max, struct ckpt_error *error)
{
	struct image_reader *r;
	int err;

	if (img->err)
		return error_set(error, img->err, "%s", img->error.text);
	if (img->base || img->index.memory.nr)
		return error_set(error, -EINVAL, "too late for a base");
	err = image_open(dir, img->key, NULL, &r, error);
	if (err)
		return err;
	image_hold(r);
	if (!r->m->files[IMAGE_FILE_PAGES].name && !r->m->nr_bases)
		err = error_set(error, -ENODATA, "%.200s: holds no pages", dir);
	else if (strcmp(r->m->job, img->manifest.job) ||
		 r->m->encrypted != img->manifest.encrypted ||
		 memcmp(r->m->secret_id, img->manifest.secret_id, sizeof(r->m->secret_id)))
		err = error_set(error, -EINVAL, "%.200s: of another job, or kept otherwise",
				      dir);
	else
		err = image_base_fits(r->m, max, error);
	if (!err) {
		err = take_files(img, r);
		if (err)
			error_set(error, err, "%.150s: no other name for its pages: %s", dir,
					strerror(-err));
	}
	if (err) {
		image_close(r);
		return err;
	}
	img->base = r;
	return 0;
}

struct image_reader *image_base_reader(const struct image *img)
{
	return img->base;
}

int image_pages_base(struct image *img, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		     uint64_t base_mm_id, uint64_t *ret_nr)
{
	uint64_t done = 0;
	int err = image_check_range(img, mm_id, addr, nr_pages);

	if (!err && !img->base)
		err = image_fail(img, -EINVAL, "pages of a base, but there is none");
	while (!err && done < nr_pages) {
		uint64_t offset, len, most = (nr_pages - done) * IMAGE_PAGE_SIZE;
		const struct extent *e = reader_resolve(img->base, base_mm_id,
							addr + done * IMAGE_PAGE_SIZE, &offset,
							&len);
		struct extent new = { .owner = mm_id, .start = addr + done * IMAGE_PAGE_SIZE };

		if (!e)
			break;
		new.len = len < most ? len : most;
		new.kind = e->kind;
		if (e->kind == IMAGE_EXTENT_DATA) {
			new.src = e->src + img->base_shift;
			new.where = e->where + offset;
			img->manifest.counts.pages_data += new.len / IMAGE_PAGE_SIZE;
			img->manifest.counts.pages_base += new.len / IMAGE_PAGE_SIZE;
		} else {
			img->manifest.counts.pages_zero += new.len / IMAGE_PAGE_SIZE;
		}
		err = image_add_extent(img, &new);
		done += new.len / IMAGE_PAGE_SIZE;
	}
	*ret_nr = done;
	return err;
}

int image_blob_base(struct image *img, uint64_t blob_id, uint64_t offset, uint64_t nr_pages,
		    uint64_t base_blob_id, uint64_t *ret_nr)
{
	return image_pages_base(img, IMAGE_OWNER_BLOB | blob_id, offset, nr_pages,
				IMAGE_OWNER_BLOB | base_blob_id, ret_nr);
}

int image_track(struct image *img, uint64_t mm_id, uint64_t token)
{
	if (img->err)
		return img->err;
	return index_add_track(&img->index, mm_id, token) ?
	       image_fail(img, -ENOMEM, "index: out of memory") : 0;
}

/* ---------------------------------------------------------------- commit */

/* Base number @from becomes number @to, which is free. */
static int move_file(struct image *img, unsigned int from, unsigned int to)
{
	const enum image_file old = (enum image_file)(IMAGE_FILE_BASE + from);
	const enum image_file new = (enum image_file)(IMAGE_FILE_BASE + to);
	int err = img->writer->ops->rename(img->writer, image_file_names[old],
					   image_file_names[new]);

	if (err)
		return err;
	img->index.chunks[new] = img->index.chunks[old];
	img->index.nr_chunks[new] = img->index.nr_chunks[old];
	img->index.chunks[old] = NULL;
	img->manifest.files[new] = img->manifest.files[old];
	img->manifest.files[new].name = image_file_names[new];
	img->manifest.bases[to] = img->manifest.bases[from];
	drop_file(img, from);
	return 0;
}

int image_bases_settle(struct image *img)
{
	uint64_t number[1 + IMAGE_BASES_MAX] = { 0 };	/* by old number: used, then new one */
	struct extent_table *t = &img->index.memory;
	unsigned int i, nr = 0;
	int err = 0;
	size_t k;

	for (k = 0; k < t->nr; k++)
		if (t->v[k].kind == IMAGE_EXTENT_DATA)
			number[t->v[k].src] = 1;
	number[0] = 0;
	for (i = 0; !err && i < img->manifest.nr_bases; i++) {
		if (!number[1 + i]) {
			err = img->writer->ops->remove(img->writer,
						       image_file_names[IMAGE_FILE_BASE + i]);
			drop_file(img, i);
			continue;
		}
		if (i != nr)
			err = move_file(img, i, nr);
		number[1 + i] = ++nr;
	}
	if (err)
		return image_fail(img, err,
				  "%s: cannot put the pages of earlier images in order: %s",
				  img->writer->name, strerror(-err));
	img->manifest.nr_bases = nr;
	for (k = 0; k < t->nr; k++)
		if (t->v[k].kind == IMAGE_EXTENT_DATA)
			t->v[k].src = number[t->v[k].src];
	return 0;
}
