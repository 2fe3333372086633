/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merging: turns an image that needs pages of earlier images into a full one.
 */
#ifndef STILLPOINT_IMAGE_MERGE_H
#define STILLPOINT_IMAGE_MERGE_H

#include "base/error.h"
#include "image/reader.h"
#include "image/writer.h"

struct image_merge_options {
	/* Called before @bytes are read: may wait; a negative errno ends the merge.  Or NULL. */
	int (*pace)(uint64_t bytes, void *arg);
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	/*
	 * Called when the new image is complete, durable and read back, before it replaces the
	 * old one: a negative errno keeps the old one.  Or NULL.
	 */
	int (*ready)(void *arg);
	void *arg;
	uint64_t memory;	/* to write with: as in struct image_options */
	/* NULL: image_writer_create() */
	int (*create_writer)(const char *dir, struct image_writer **ret_writer,
			     struct ckpt_error *error);
};

/* The figures of a merge: before and after. */
struct image_merged {
	unsigned int nr_bases;		/* earlier images it needed; 0: nothing was done */
	uint64_t bytes_was;		/* before: bytes of the image's own files */
	uint64_t bytes_base;		/* before: bytes of the earlier images' files */
	uint64_t bytes_is;
};

/*
 * image_merge() - store all pages that @dir has from earlier images in @dir itself
 * @expect: the image that @dir must be; may be NULL
 *
 * The new image is written beside @dir, read back, and replaces the old one in one step that is
 * durable before any file of the old one is removed.  So whenever the merge ends, also by SIGKILL
 * or a power cut, @dir is the old image or the new one, whole; image_sweep() removes the rest.
 * The new image has the same generation and another id; readers of the old one go on with it.
 *
 *   -EBUSY       the image is being merged by another process, or removed
 *   -EOPNOTSUPP  the file system cannot exchange two directories
 *   -ENOSPC      not begun, or abandoned
 * and the errors of image_open(), image_pages_read() and image_commit().
 */
int image_merge(const char *dir, const struct image_key *key, const struct image_expect *expect,
		const struct image_merge_options *options, struct image_merged *ret_merged,
		struct ckpt_error *error);

/*
 * image_merge_look() - find out what a merge would do, and whether @dir could be a base
 * @max: as of image_base()
 * @ret_merged: as of image_merge(), but bytes_is is an upper bound
 *
 * Return: 0; -EMLINK or -EFBIG: @dir cannot be a base (see image_base()); or an error of
 * image_open().
 */
int image_merge_look(const char *dir, const struct image_key *key,
		     const struct image_expect *expect, unsigned int max,
		     struct image_merged *ret_merged, struct ckpt_error *error);

/**
 * struct image_copy_options - in what a copy differs from its image
 * @job, @generation: whose it is
 * @note, @record: these texts of the manifest; NULL: as in the image
 * @memory: to write with: as in struct image_options
 */
struct image_copy_options {
	const char *job;
	uint64_t generation;
	const char *note, *record;
	uint64_t memory;
};

/*
 * image_copy() - write the image @from anew as @to, a full one, of another job
 * @expect: the image that @from must be; may be NULL
 *
 * @to must not exist. Errors as of image_merge().
 */
int image_copy(const char *from, const char *to, const struct image_key *key,
	       const struct image_expect *expect, const struct image_copy_options *options,
	       struct ckpt_error *error);

#endif /* STILLPOINT_IMAGE_MERGE_H */
