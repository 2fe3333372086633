/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image that stands on earlier ones becomes one that does not.
 */
#ifndef STILLPOINT_IMAGE_MERGE_H
#define STILLPOINT_IMAGE_MERGE_H

#include "base/error.h"
#include "image/reader.h"
#include "image/writer.h"

struct image_merge_options {
	/* Before @bytes are read: may wait; a negative errno ends the merge.  Or NULL. */
	int (*pace)(uint64_t bytes, void *arg);
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	/*
	 * The new image is complete, durable and read back, and is about to take the place of the
	 * old one: a negative errno, and it does not.  Or NULL.
	 */
	int (*ready)(void *arg);
	void *arg;
	uint64_t memory;	/* to write with: as in struct image_options */
	/* NULL: image_writer_create() */
	int (*create_writer)(const char *dir, struct image_writer **ret_writer,
			     struct ckpt_error *error);
};

/* What a merge had before it and has made. */
struct image_merged {
	unsigned int nr_bases;		/* it stood on; 0: on none, and nothing was done */
	uint64_t bytes_was;		/* of its own files, */
	uint64_t bytes_base;		/* and of those of earlier images */
	uint64_t bytes_is;
};

/*
 * image_merge() - store in @dir itself all that it has of earlier images
 * @expect: what @dir is to be; may be NULL
 *
 * The new image is written beside, read back, and takes the place of the old one in one step that
 * is durable before anything of the old one is removed.  So whenever this ends, also by SIGKILL or a
 * power cut, @dir is the old image or the new one, whole; what else is left is image_sweep()'s.
 * The new one is of the same generation and of other id; whoever reads the old one goes on with that.
 *
 *   -EBUSY       somebody merges it, or it is being removed
 *   -EOPNOTSUPP  the file system cannot exchange two directories
 *   -ENOSPC      not begun, or given up
 * and what image_open(), image_pages_read() and image_commit() say.
 */
int image_merge(const char *dir, const struct image_key *key, const struct image_expect *expect,
		const struct image_merge_options *options, struct image_merged *ret_merged,
		struct ckpt_error *error);

/*
 * image_merge_look() - what there is to merge, and whether another image could stand on this one
 * @max: as of image_base()
 *
 * @ret_merged as image_merge() would say, but for bytes_is: that is the most it could be.
 * 0; -EMLINK or -EFBIG: it could not (see image_base()); or what image_open() says.
 */
int image_merge_look(const char *dir, const struct image_key *key,
		     const struct image_expect *expect, unsigned int max,
		     struct image_merged *ret_merged, struct ckpt_error *error);

#endif /* STILLPOINT_IMAGE_MERGE_H */
