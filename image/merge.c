// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merging: turns an image that needs pages of earlier images into a full one.
 *
 * Owns the name .tmp-merged-NAME beside NAME: there the new image is written and committed as any
 * other, so that it is whole and durable before it is seen under NAME; then the two directories
 * change names in one step.  Afterwards .tmp-merged-NAME is the old image, and is removed.
 * A sweeper takes either directory for a leftover, unless it is locked: the writer locks the new
 * image until the end; its readers lock the old one, and the merge is a reader until the exchange
 * is durable.
 *
 * The new image has an id of its own, as every image has: chunks are keyed by it.  It keeps the
 * generation, the time, the job's counts, the manifest's other facts, and the tokens by which a
 * later image can use it as its base.
 *
 * Must not touch the old image but by its reader.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "image/base.h"
#include "image/merge.h"
#include "image/place.h"
#include "image/reader_priv.h"
#include "image/writer_priv.h"

#define PIECE		(1U << 20)	/* bytes read at once; of pages and contents */

struct merge {
	const struct image_merge_options *o;
	const struct image_key *key;
	struct image_reader *from;
	struct image_reader *again;	/* a clone: what was read before is compared */
	struct image *img;
	char *name;			/* of the old image, in its parent */
	char *path;			/* of the new image */
	uint64_t done, total;
	uint8_t *buf;			/* PIECE */
};

/* ------------------------------------------------------------------- copy */

static int merge_pace(struct merge *m, uint64_t bytes, struct ckpt_error *error)
{
	int err = m->o->pace ? m->o->pace(bytes, m->o->arg) : 0;

	m->done += bytes;
	if (!err && m->o->progress)
		m->o->progress(m->done, m->total, m->o->arg);
	return err ? error_set(error, err, "the merge was stopped") : 0;
}

static int read_failed(const struct merge *m, int err, struct ckpt_error *error)
{
	return error_set(error, err, "%s", image_reader_error(m->from));
}

static int write_failed(const struct merge *m, int err, struct ckpt_error *error)
{
	return error_set(error, err, "%s", image_error_text(m->img));
}

static int copy_state(struct merge *m, struct ckpt_error *error)
{
	struct image_record rec;
	int ret;

	image_state_rewind(m->from);
	while ((ret = image_state_next(m->from, &rec)) == 1) {
		ret = image_state_append(m->img, rec.data, rec.len);
		if (ret)
			return write_failed(m, ret, error);
	}
	return ret ? read_failed(m, ret, error) : 0;
}

static int copy_data(struct merge *m, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		     struct ckpt_error *error)
{
	int err = 0;

	while (nr_pages && !err) {
		uint64_t n = nr_pages;
		const void *data;

		/* as much of it as is in one chunk */
		err = image_pages_peek(m->from, mm_id, addr, &n, &data);
		if (err)
			return read_failed(m, err, error);
		err = merge_pace(m, n * IMAGE_PAGE_SIZE, error);
		if (!err && image_pages_add(m->img, mm_id, addr, n, data))
			err = write_failed(m, m->img->err, error);
		addr += n * IMAGE_PAGE_SIZE;
		nr_pages -= n;
	}
	return err;
}

static int copy_run(struct merge *m, uint64_t mm_id, const struct image_run *run,
		    struct ckpt_error *error)
{
	int err;

	if (run->kind == IMAGE_RUN_DATA)
		return copy_data(m, mm_id, run->addr, run->nr_pages, error);
	if (run->kind == IMAGE_RUN_ZERO)
		err = image_pages_zero(m->img, mm_id, run->addr, run->nr_pages);
	else
		err = image_pages_ref(m->img, mm_id, run->addr, run->nr_pages, run->src_mm_id,
				      run->src_addr);
	return err ? write_failed(m, err, error) : 0;
}

static int copy_memory(struct merge *m, struct ckpt_error *error)
{
	struct image_run run;
	uint64_t mm_id = 0;
	int ret, err = 0;

	while (!err && (ret = image_mm_next(m->from, &mm_id)) == 1) {
		uint64_t cursor = 0;

		while (!err && (ret = image_pages_next(m->from, mm_id, &cursor, &run)) == 1)
			err = copy_run(m, mm_id, &run, error);
		if (!err && ret)
			err = read_failed(m, ret, error);
	}
	return err || !ret ? err : read_failed(m, ret, error);
}

static int copy_extent(struct merge *m, uint64_t blob_id, uint64_t offset, uint64_t len,
		       struct ckpt_error *error)
{
	int err = 0;

	while (len && !err) {
		size_t n = len < PIECE ? len : PIECE;

		err = merge_pace(m, n, error);
		if (err)
			return err;
		err = image_blob_read(m->from, blob_id, offset, m->buf, n);
		if (err)
			return read_failed(m, err, error);
		err = image_blob_append(m->img, offset, m->buf, n);
		offset += n;
		len -= n;
	}
	return err ? write_failed(m, err, error) : 0;
}

static int copy_blob(struct merge *m, uint64_t blob_id, uint64_t size, struct ckpt_error *error)
{
	uint64_t cursor = 0, offset, len;
	int ret, err;

	if (image_blob_begin(m->img, blob_id) ||
	    (image_blob_paged_in(m->from, blob_id) && image_blob_in_pages(m->img)))
		return write_failed(m, m->img->err, error);
	while ((ret = image_blob_extent(m->from, blob_id, &cursor, &offset, &len)) == 1) {
		err = copy_extent(m, blob_id, offset, len, error);
		if (err)
			return err;
	}
	if (ret)
		return read_failed(m, ret, error);
	err = image_blob_end(m->img, size);
	return err ? write_failed(m, err, error) : 0;
}

static int copy_blobs(struct merge *m, struct ckpt_error *error)
{
	uint64_t blob_id = 0, size;
	int ret, err;

	while ((ret = image_blob_next(m->from, &blob_id, &size)) == 1) {
		err = copy_blob(m, blob_id, size, error);
		if (err)
			return err;
	}
	return ret ? read_failed(m, ret, error) : 0;
}

/* Copy the manifest's other facts and the index's tracks. */
static int copy_facts(struct merge *m, struct ckpt_error *error)
{
	const struct image_manifest *is = m->from->m;
	const struct index *ix = &m->from->index;
	char text[32];
	unsigned int i;

	image_set_identity(m->img, &is->identity);
	image_set_timing(m->img, &is->timing);
	image_set_roots(m->img, is->roots, is->nr_roots);
	for (i = 0; i < is->nr_keyvals; i++)
		image_set(m->img, is->keys[i], is->values[i]);
	snprintf(text, sizeof(text), "%u", is->nr_bases);
	if (is->nr_bases)
		image_set(m->img, "merged.from", text);
	for (i = 0; i < ix->nr_tracks; i++)
		image_track(m->img, ix->tracks[i].owner, ix->tracks[i].token);
	return m->img->err ? write_failed(m, m->img->err, error) : 0;
}

static int copy_all(struct merge *m, struct ckpt_error *error)
{
	int err = copy_state(m, error);

	if (!err)
		err = copy_memory(m, error);
	if (!err)
		err = copy_blobs(m, error);
	return err ? err : copy_facts(m, error);
}

/* ------------------------------------------------------------------ begin */

static uint64_t merge_held(const struct image_manifest *m)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < m->nr_bases; i++)
		sum += m->files[IMAGE_FILE_BASE + i].len;
	return sum;
}

static void merge_describe(const struct image_manifest *m, struct image_merged *ret_merged)
{
	*ret_merged = (struct image_merged){
		.nr_bases = m->nr_bases,
		.bytes_was = m->counts.bytes_stored,
		.bytes_base = merge_held(m),
		.bytes_is = m->counts.bytes_stored + merge_held(m),
	};
}

/* Refuse a merge on a nearly full disk: the job's next checkpoint needs room, too. */
static int check_space(const struct place *place, const struct image_merged *merged,
		       const char *dir, struct ckpt_error *error)
{
	struct statvfs fs;
	uint64_t free;

	if (fstatvfs(place->parent, &fs))
		return error_set(error, -errno, "%.200s: %m", dir);
	free = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free >= merged->bytes_is)
		return 0;
	return error_set(error, -ENOSPC,
			 "%.100s: up to %llu MiB are needed beside it to merge it, and %llu MiB "
			 "are free",
			 dir, (unsigned long long)(merged->bytes_is >> 20),
			 (unsigned long long)(free >> 20));
}

static int merge_reread(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf)
{
	struct merge *m = arg;

	return image_pages_read(m->again, mm_id, addr, nr_pages, buf);
}

/* Hold the old image: nobody may remove it, or merge it at the same time. */
static int merge_hold(struct merge *m, const char *dir, struct ckpt_error *error)
{
	if (!flock(m->from->dir, LOCK_SH | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(error, -EBUSY, "%.200s: in use", dir);
	return error_set(error, -errno, "%.200s: cannot be held: %m", dir);
}

static int merge_begin(struct merge *m, const struct place *place, const char *dir,
		       struct ckpt_error *error)
{
	const struct image_manifest *is = m->from->m;
	const struct image_options options = {
		.generation = is->generation, .job = is->job, .encrypt = is->encrypted,
		.memory = m->o->memory, .reread = merge_reread, .reread_arg = m,
	};
	struct image_writer *writer;
	int err;

	m->name = strdup(place->name);
	m->path = place_beside(dir, PLACE_MERGED);
	m->buf = malloc(PIECE);
	if (!m->name || !m->path || !m->buf || image_clone(m->from, &m->again))
		return error_set(error, -ENOMEM, "out of memory");
	m->total = is->counts.pages_data * IMAGE_PAGE_SIZE + is->counts.blob_data;
	err = place_drop(m->path);
	if (err && err != -ENOENT)
		return error_set(error, err, "%.200s: %s", m->path, err == -EBUSY ?
				       "in use: it is being merged already" : strerror(-err));
	err = (m->o->create_writer ? m->o->create_writer : image_writer_create)(m->path, &writer,
										error);
	return err ? err : image_create(writer, m->key, &options, &m->img, error);
}

/* ---------------------------------------------------------------- replace */

/* Read the new image back before the old one is removed. */
static int read_back(const struct merge *m, struct ckpt_error *error)
{
	struct image_expect expect = {
		.generation = m->from->m->generation, .job = m->from->m->job };
	uint8_t id[IMAGE_ID_BYTES];

	image_get_id(m->img, id);
	expect.id = id;
	return image_verify(m->path, m->key, &expect, true, NULL, NULL, error);
}

static int not_replaced(const char *dir, int err, struct ckpt_error *error)
{
	return error_set(error, err, "%.150s: cannot be replaced by what it was merged into: %s",
			       dir, err == -EOPNOTSUPP ?
			       "the file system cannot exchange directories" : strerror(-err));
}

static int merge_swap(struct merge *m, const char *dir, struct ckpt_error *error)
{
	const struct image_writer *w = m->img->writer;
	int err = w->ops->swap ? w->ops->swap(m->img->writer, m->name) : -EOPNOTSUPP;

	if (err == -EINVAL || err == -ENOSYS)
		err = -EOPNOTSUPP;
	return err ? not_replaced(dir, err, error) : 0;
}

static int merge_replace(struct merge *m, const char *dir, struct ckpt_error *error)
{
	int err = image_commit(m->img, error);

	if (err)
		return err;
	err = read_back(m, error);
	if (!err && m->o->ready) {
		err = m->o->ready(m->o->arg);
		if (err)
			error_set(error, err, "%.150s: is to stay as it is: %s", dir,
					strerror(-err));
	}
	return err ? err : merge_swap(m, dir, error);
}

static void merge_done(struct merge *m, int err)
{
	bool written = m->img && m->img->committed;

	image_close(m->again);
	image_close(m->from);
	image_destroy(m->img);
	/*
	 * Remove the old image, or the new one if the merge failed.  After an I/O error nobody
	 * knows which of the two has the name on disk: a sweeper comes when that is settled.
	 */
	if (written && err != -EIO)
		place_drop(m->path);
	free(m->path);
	free(m->name);
	free(m->buf);
}

static int merge_run(struct merge *m, const char *dir, struct image_merged *merged,
		     struct ckpt_error *error)
{
	struct place place;
	int err = merge_hold(m, dir, error);

	if (!err)
		err = place_open(&place, dir, error);
	if (err)
		return err;
	err = check_space(&place, merged, dir, error);
	/* Find out first, or the new image would be written and read back for nothing. */
	if (!err && place_can_exchange(&place))
		err = not_replaced(dir, -EOPNOTSUPP, error);
	if (!err)
		err = merge_begin(m, &place, dir, error);
	place_done(&place);
	if (!err)
		err = copy_all(m, error);
	if (!err)
		err = merge_replace(m, dir, error);
	return err;
}

int image_merge(const char *dir, const struct image_key *key, const struct image_expect *expect,
		const struct image_merge_options *options, struct image_merged *ret_merged,
		struct ckpt_error *error)
{
	static const struct image_merge_options none;
	struct merge m = { .o = options ? options : &none, .key = key };
	struct image_merged merged;
	struct image_counts counts;
	int err = image_open(dir, key, expect, &m.from, error);

	if (err)
		return err;
	merge_describe(m.from->m, &merged);
	if (merged.nr_bases)
		err = merge_run(&m, dir, &merged, error);
	if (!err && merged.nr_bases) {
		image_get_counts(m.img, &counts);
		merged.bytes_is = counts.bytes_stored;
	}
	merge_done(&m, err);
	if (!err && ret_merged)
		*ret_merged = merged;
	return err;
}

static int copy_run_all(struct merge *m, const char *to, const struct image_copy_options *o,
			struct ckpt_error *error)
{
	const struct image_options options = {
		.generation = o->generation, .job = o->job, .encrypt = m->from->m->encrypted,
		.memory = o->memory, .reread = merge_reread, .reread_arg = m,
	};
	struct image_writer *writer;
	int err;

	m->buf = malloc(PIECE);
	if (!m->buf || image_clone(m->from, &m->again))
		return error_set(error, -ENOMEM, "out of memory");
	err = image_writer_create(to, &writer, error);
	if (!err)
		err = image_create(writer, m->key, &options, &m->img, error);
	if (!err)
		err = copy_all(m, error);
	if (!err && o->note)
		err = image_set(m->img, "note", o->note);
	if (!err && o->record)
		err = image_set(m->img, "record", o->record);
	return err ? err : image_commit(m->img, error);
}

int image_copy(const char *from, const char *to, const struct image_key *key,
	       const struct image_expect *expect, const struct image_copy_options *options,
	       struct ckpt_error *error)
{
	static const struct image_merge_options none;
	struct merge m = { .o = &none, .key = key };
	int err = image_open(from, key, expect, &m.from, error);

	if (!err)
		err = copy_run_all(&m, to, options, error);
	image_close(m.again);
	image_close(m.from);
	image_destroy(m.img);
	free(m.buf);
	return err;
}

int image_merge_look(const char *dir, const struct image_key *key,
		     const struct image_expect *expect, unsigned int max,
		     struct image_merged *ret_merged, struct ckpt_error *error)
{
	struct image_reader *r;
	int err = image_open(dir, key, expect, &r, error);

	if (err)
		return err;
	merge_describe(r->m, ret_merged);
	err = image_base_fits(r->m, max, error);
	image_close(r);
	return err;
}
