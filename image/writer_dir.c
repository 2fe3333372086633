// SPDX-License-Identifier: GPL-2.0-only
/*
 * The directory of an image while it is written.
 *
 * Owns the temporary directory .tmp-NAME beside the final NAME, from begin to
 * publish or discard.  A living writer has its directory locked with flock(2), so
 * that image_sweep() and a second writer know a dead writer's leftovers from a
 * living one's work.
 *
 * Every name is resolved relative to the parent directory, opened once; symlinks
 * in place of our own names are not followed.  Publishing is one rename of the
 * directory, which is undone if it cannot be made durable.
 *
 * Must not write into files: each writer does that in its own way.
 */
#include "image/writer_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int writer_dir_init(struct writer_dir *wd, const struct image_writer_ops *ops, const char *dir,
		    struct ckpt_error *error)
{
	int err;

	wd->base.ops = ops;
	wd->dir = -1;
	wd->published = false;
	err = place_open(&wd->place, dir, error);
	if (err)
		return err;
	wd->path = strdup(dir);
	if (!wd->path) {
		place_done(&wd->place);
		return error_set(error, -ENOMEM, "out of memory");
	}
	wd->base.name = wd->path;
	return 0;
}

void writer_dir_done(struct writer_dir *wd)
{
	writer_dir_discard(&wd->base);
	if (wd->dir >= 0)
		close(wd->dir);
	place_done(&wd->place);
	free(wd->path);
}

int writer_dir_begin(struct image_writer *w)
{
	struct writer_dir *wd = to_writer_dir(w);
	int err;

	err = place_check_free(&wd->place);
	if (err)
		return err;
	wd->dir = place_make_tmp(&wd->place);
	return wd->dir < 0 ? wd->dir : 0;
}

int writer_dir_rename(struct image_writer *w, const char *from, const char *to)
{
	struct writer_dir *wd = to_writer_dir(w);

	return renameat(wd->dir, from, wd->dir, to) < 0 ? -errno : 0;
}

int writer_dir_link(struct image_writer *w, int dir, const char *from, const char *to)
{
	return linkat(dir, from, to_writer_dir(w)->dir, to, 0) < 0 ? -errno : 0;
}

int writer_dir_remove(struct image_writer *w, const char *name)
{
	return unlinkat(to_writer_dir(w)->dir, name, 0) < 0 ? -errno : 0;
}

int writer_dir_sync(struct image_writer *w)
{
	return fsync(to_writer_dir(w)->dir) < 0 ? -errno : 0;
}

int writer_dir_publish(struct image_writer *w)
{
	struct writer_dir *wd = to_writer_dir(w);
	const struct place *p = &wd->place;
	int err;

	/* the rename replaces an empty directory, and fails for anything else */
	if (renameat(p->parent, p->tmp, p->parent, p->name) < 0)
		return errno == ENOTEMPTY || errno == ENOTDIR ? -EEXIST : -errno;
	if (fsync(p->parent) < 0) {
		err = -errno;
		if (renameat(p->parent, p->name, p->parent, p->tmp) < 0)
			wd->published = true;	/* cannot take it back */
		return err;
	}
	wd->published = true;
	return 0;
}

int writer_dir_swap(struct image_writer *w, const char *name)
{
	const struct place *p = &to_writer_dir(w)->place;
	int err;

	if (renameat2(p->parent, p->name, p->parent, name, RENAME_EXCHANGE) < 0)
		return -errno;
	if (!fsync(p->parent))
		return 0;
	err = -errno;
	/*
	 * Both images are whole, and after a power cut either may have the name.  Exchange
	 * the names back, as the error means that nothing changed.
	 */
	renameat2(p->parent, p->name, p->parent, name, RENAME_EXCHANGE);
	return err;
}

void writer_dir_discard(struct image_writer *w)
{
	struct writer_dir *wd = to_writer_dir(w);

	if (wd->dir < 0 || wd->published)
		return;
	place_empty(wd->dir);
	unlinkat(wd->place.parent, wd->place.tmp, AT_REMOVEDIR);
	close(wd->dir);
	wd->dir = -1;
}
