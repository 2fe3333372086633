/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image on top of an earlier one, its base: data of the base is not stored again.
 */
#ifndef STILLPOINT_IMAGE_BASE_H
#define STILLPOINT_IMAGE_BASE_H

#include "base/error.h"
#include "image/writer.h"

struct image_reader;

/*
 * image_base() - build on the image @dir: pages that it has need not be stored again
 * @max: most earlier images whose pages the new one may need, at most IMAGE_BASES_MAX
 *
 * To be called before anything is added.  If it fails nothing has changed, and the
 * image becomes a full one:
 *   -EMLINK  the image would need more than @max earlier images
 *   -EFBIG   the earlier images hold more unneeded data than needed data
 *   -EXDEV, -EOPNOTSUPP, …  their files cannot be linked into this image's directory
 * and the errors of image_open() for @dir.  @dir may be removed once the new image is committed.
 */
int image_base(struct image *img, const char *dir, unsigned int max, struct ckpt_error *error);

/* The reader that image_base() opened, or NULL; it belongs to the image. */
struct image_reader *image_base_reader(const struct image *img);

/*
 * image_pages_base() - add pages that have not changed since the base
 * @base_mm_id: the memory map's number there
 * @ret_nr: how many from @addr on were added; 0: the base does not have the first one
 */
int image_pages_base(struct image *img, uint64_t mm_id, uint64_t addr, uint64_t nr_pages,
		     uint64_t base_mm_id, uint64_t *ret_nr);

/*
 * image_blob_base() - add pages of a blob that have not changed since the base
 * @blob_id: of a blob that is kept in pages; it may have ended
 * @base_blob_id: the blob's number there
 * @ret_nr: as in image_pages_base()
 */
int image_blob_base(struct image *img, uint64_t blob_id, uint64_t offset, uint64_t nr_pages,
		    uint64_t base_blob_id, uint64_t *ret_nr);

/* From this image on, writes to the memory map are tracked under @token. */
int image_track(struct image *img, uint64_t mm_id, uint64_t token);

#endif /* STILLPOINT_IMAGE_BASE_H */
