/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The manifest: the file that makes a directory an image.  Encodes and decodes it;
 * encode(decode(x)) == x for each manifest that this version writes.
 */
#ifndef STILLPOINT_IMAGE_MANIFEST_H
#define STILLPOINT_IMAGE_MANIFEST_H

#include "image/fault.h"
#include "image/reader.h"

struct manifest;

#define MANIFEST_MAC_BYTES	IMAGE_DIGEST_BYTES

/*
 * Encode all of @m except counts.bytes_*; @m's strings must not be NULL, and @key must have the
 * secret if @m is encrypted.
 */
int manifest_encode(const struct image_manifest *m, const struct image_key *key,
		    uint8_t **ret_buf, size_t *ret_len);

/* Takes over @buf on success; the manifest is locked if @key lacks the secret of its encryption. */
int manifest_decode(uint8_t *buf, size_t len, const struct image_key *key,
		    struct manifest **ret_man, struct fault *fault);

/* The key to read the image with: that of its job, or else @key. */
const struct image_key *manifest_key(const struct manifest *man, const struct image_key *key);

const struct image_manifest *manifest_info(const struct manifest *man);
void manifest_destroy(struct manifest *man);

/* For manifest.c: the MAC, a keyed BLAKE2b over the @len bytes in front of it. */
void manifest_mac(const uint8_t *buf, size_t len, const struct image_key *key,
		  const uint8_t id[32], uint8_t mac[MANIFEST_MAC_BYTES]);

/* For manifest.c: the second MAC, by the key of the job; @key must have it. */
void manifest_job_mac(const uint8_t *buf, size_t len, const struct image_key *key,
		      const uint8_t id[32], uint8_t mac[MANIFEST_MAC_BYTES]);

/* Make the header that @file, any file but the manifest, begins with. */
void manifest_file_hdr(const struct image_manifest *m, enum image_file file,
		       struct image_file_hdr *ret_hdr);

#endif /* STILLPOINT_IMAGE_MANIFEST_H */
