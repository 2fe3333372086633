/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The temporary directory of an image, its lock, and how it gets its final name:
 * shared by all writers on a POSIX file system.
 */
#ifndef STILLPOINT_IMAGE_WRITER_DIR_H
#define STILLPOINT_IMAGE_WRITER_DIR_H

#include "base/error.h"
#include "image/place.h"
#include "image/writer.h"

struct writer_dir {
	struct image_writer base;	/* must be first */
	struct place place;		/* parent directory and names */
	char *path;
	int dir;			/* the temporary directory, locked; -1: none */
	bool published;
};

static inline struct writer_dir *to_writer_dir(struct image_writer *w)
{
	return (struct writer_dir *)w;
}

/* Open the parent of @dir; nothing is created before writer_dir_begin(). */
int writer_dir_init(struct writer_dir *wd, const struct image_writer_ops *ops, const char *dir,
		    struct ckpt_error *error);
/* Discard the directory if it was not published.  Does not free @wd. */
void writer_dir_done(struct writer_dir *wd);

/* Operations of struct image_writer_ops. */
int writer_dir_begin(struct image_writer *w);
int writer_dir_rename(struct image_writer *w, const char *from, const char *to);
int writer_dir_sync(struct image_writer *w);
int writer_dir_publish(struct image_writer *w);
void writer_dir_discard(struct image_writer *w);
int writer_dir_link(struct image_writer *w, int dir, const char *from, const char *to);
int writer_dir_remove(struct image_writer *w, const char *name);
int writer_dir_swap(struct image_writer *w, const char *name);

#endif /* STILLPOINT_IMAGE_WRITER_DIR_H */
