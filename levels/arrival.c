// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream of bytes becomes a committed image.
 *
 * Owns a writer (image/writer.h), so the bytes go to a temporary directory beside the
 * final name, in large aligned appends, and every operation that can fail is behind
 * that seam.  Order: each data file written and synced; the manifest written under its
 * temporary name, synced, renamed; the directory synced; everything read back and
 * authenticated; then one rename of the directory, made durable.  So at any instant
 * there is either no image under the name or a whole one that was checked.
 *
 * Must not look at the bytes, nor retry: the first failure is the end.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "image/place.h"
#include "levels/arrival.h"
#include "levels/source.h"

static int arrival_failed(const struct arrival *a, int err, const char *what,
			  struct ckpt_error *error)
{
	return error_set(error, err, "%.180s: %s: %s", a->dir, what, strerror(-err));
}

int arrival_begin(struct arrival *a, const char *dir, const struct layout *layout,
		  const struct level_writers *writers, struct ckpt_error *error)
{
	int err;

	*a = (struct arrival){ .dir = dir, .layout = layout };
	if (writers)
		err = writers->create(dir, &a->writer, error, writers->arg);
	else
		err = image_writer_posix_create(dir, &a->writer, error);
	if (err) {
		a->writer = NULL;
		return err;
	}
	err = a->writer->ops->begin(a->writer);
	if (err == -EEXIST)
		return error_set(error, err, "%.200s: there already", dir);
	if (err == -EBUSY)
		return error_set(error, err, "%.200s: somebody is writing it", dir);
	return err ? arrival_failed(a, err, "cannot begin", error) : 0;
}

static const char *written_name(const struct layout *l, unsigned int file)
{
	return file == LAYOUT_MANIFEST ? IMAGE_NAME_MANIFEST_TMP : layout_name(l, file);
}

/* The file is complete: durable, and closed in any case. */
static int end_file(struct arrival *a, struct ckpt_error *error)
{
	int err, other;

	err = a->writer->ops->sync(a->file);
	other = a->writer->ops->close(a->file);
	a->file = NULL;
	if (!err)
		err = other;
	return err ? arrival_failed(a, err, layout_name(a->layout, a->at), error) : 0;
}

/* Append bytes to the file at @at; the file's last bytes also finish it. */
static int append_file(struct arrival *a, const void *buf, size_t len,
		       struct ckpt_error *error)
{
	const struct image_writer_ops *ops = a->writer->ops;
	int err = 0;

	if (!a->file)
		err = ops->open(a->writer, written_name(a->layout, a->at), &a->file);
	if (err) {
		a->file = NULL;
		return arrival_failed(a, err, layout_name(a->layout, a->at), error);
	}
	err = ops->append(a->file, buf, len);
	if (err)
		return arrival_failed(a, err, layout_name(a->layout, a->at), error);
	if (a->pos + len == layout_end(a->layout, a->at))
		return end_file(a, error);
	return 0;
}

int arrival_append(struct arrival *a, const void *buf, size_t len,
		   struct ckpt_error *error)
{
	const struct layout *l = a->layout;
	const uint8_t *p = buf;
	int err;

	while (len && a->at < LAYOUT_FILES) {
		uint64_t end = layout_end(l, a->at);
		uint64_t next = a->at < LAYOUT_MANIFEST ? l->start[a->at + 1] : l->total;
		uint64_t n;

		n = (a->pos < end ? end : next) - a->pos;
		if (n > len)
			n = len;
		if (a->pos < end) {
			err = append_file(a, p, n, error);
			if (err)
				return err;
		}
		a->pos += n;
		p += n;
		len -= n;
		while (a->at < LAYOUT_FILES && a->pos >= end && a->pos >= next) {
			a->at++;
			if (a->at == LAYOUT_FILES)
				break;
			end = layout_end(l, a->at);
			next = a->at < LAYOUT_MANIFEST ? l->start[a->at + 1] : l->total;
		}
	}
	return 0;
}

static int arrival_check(const struct arrival *a, const struct image_key *key,
			 const struct image_expect *expect, struct ckpt_error *error)
{
	_cleanup_free_ char *tmp = place_beside(a->dir, PLACE_TMP);

	if (!tmp)
		return error_set(error, -ENOMEM, "out of memory");
	return source_verify_any(tmp, key, expect, true, error);
}

int arrival_commit(struct arrival *a, const struct image_key *key,
		   const struct image_expect *expect, struct ckpt_error *error)
{
	const struct image_writer_ops *ops = a->writer->ops;
	int err = 0;

	if (a->at < LAYOUT_FILES || a->file)
		return error_set(error, -EBADMSG, "%.200s: did not arrive as a whole",
				       a->dir);
	if (!a->layout->parity)
		err = ops->rename(a->writer, IMAGE_NAME_MANIFEST_TMP, IMAGE_NAME_MANIFEST);
	if (!err)
		err = ops->sync_dir(a->writer);
	if (err)
		return arrival_failed(a, err, a->layout->parity ? IMAGE_NAME_PARITY :
							  IMAGE_NAME_MANIFEST, error);
	err = arrival_check(a, key, expect, error);
	if (err)
		return err;
	err = ops->publish(a->writer);
	return err ? arrival_failed(a, err, "cannot be published", error) : 0;
}

void arrival_done(struct arrival *a)
{
	if (!a->writer)
		return;
	if (a->file)
		a->writer->ops->close(a->file);
	a->writer->ops->discard(a->writer);
	a->writer->ops->destroy(a->writer);
	a->writer = NULL;
}
