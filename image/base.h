/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image on top of an earlier one: what that one has is not stored again.
 */
#ifndef STILLPOINT_IMAGE_BASE_H
#define STILLPOINT_IMAGE_BASE_H

#include "base/error.h"
#include "image/writer.h"

struct image_reader;

/*
 * image_base() - what is in the image @dir need not be stored again
 * @max: most earlier images whose pages the new one may need, at most IMAGE_BASES_MAX
 *
 * To be called before anything is added.  If it fails nothing has changed, and the
 * image becomes a full one:
 *   -EMLINK  it would need too many
 *   -EFBIG   what they hold and nobody needs is more than what is needed
 *   -EXDEV, -EOPNOTSUPP, …  their files cannot get another name here
 * and what image_open() says of @dir, which may go once this one is committed.
 */
int image_base(struct image *img, const char *dir, unsigned int max, struct ckpt_error *error);

/* What image_base() opened, or NULL; the image's. */
struct image_reader *image_base_reader(const struct image *img);

/*
 * image_pages_base() - pages that are what they are in the base
 * @base_mm_id: the memory map's number there
 * @ret_nr: how many from @addr on were added; 0: the base does not have the first one
 */
int image_pages_base(struct image *img, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		     uint64_t base_mm_id, uint64_t *ret_nr);

/* From this image on, writes to the memory map are tracked under @token. */
int image_track(struct image *img, uint64_t mm_id, uint64_t token);

#endif /* STILLPOINT_IMAGE_BASE_H */
