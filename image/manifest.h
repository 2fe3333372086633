/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The manifest: the file that makes a directory an image.  Memory form to bytes
 * and back; encode(decode(x)) == x for what this version writes.
 */
#ifndef STILLPOINT_IMAGE_MANIFEST_H
#define STILLPOINT_IMAGE_MANIFEST_H

#include "image/fault.h"
#include "image/reader.h"

struct manifest;

/* @m: everything but counts.bytes_* is used; strings must not be NULL. */
int manifest_encode(const struct image_manifest *m, const struct image_key *key,
		    uint8_t **ret_buf, size_t *ret_len);

/* Takes over @buf on success. */
int manifest_decode(uint8_t *buf, size_t len, const struct image_key *key,
		    struct manifest **ret_man, struct fault *fault);

const struct image_manifest *manifest_info(const struct manifest *man);
void manifest_destroy(struct manifest *man);

/* First bytes of every other file of the image. */
void manifest_file_hdr(const struct image_manifest *m, enum image_file file,
		       struct image_file_hdr *ret_hdr);

#endif /* STILLPOINT_IMAGE_MANIFEST_H */
