/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's key: 32 random bytes in a file that only root can read.  It
 * authenticates (and, on demand, encrypts) every image; a node that is to
 * restart another node's images has the same key.
 */
#ifndef STILLPOINT_IMAGE_KEY_H
#define STILLPOINT_IMAGE_KEY_H

#include <stdint.h>

#include "image/util.h"

#define IMAGE_KEY_BYTES	32

struct image_key;	/* opaque; memory is locked and wiped */

/**
 * image_key_load() - read a key file
 *
 * Refuses a file that is not regular, is not exactly 32 bytes long, belongs to
 * neither root nor the caller (-EPERM), or that others may access (-EPERM).
 */
int image_key_load(const char *path, struct image_key **ret_key,
		   struct image_error *error);

/* Make a new random key file, mode 0600, durable; -EEXIST if there is one. */
int image_key_create(const char *path, struct image_error *error);

/* Key from memory (a kernel keyring, a test). */
int image_key_from_bytes(const uint8_t bytes[IMAGE_KEY_BYTES],
			 struct image_key **ret_key);

void image_key_destroy(struct image_key *key);	/* NULL is fine */

/* For image/ and levels/ only: what is derived from the key; see format.h. */
#define IMAGE_SUBKEY_BYTES	32

void image_key_id(const struct image_key *key, uint8_t ret_id[16]);
void image_key_manifest(const struct image_key *key, const uint8_t image_id[32],
			uint8_t ret_key[IMAGE_SUBKEY_BYTES]);
void image_key_chunk(const struct image_key *key, const uint8_t image_id[32],
		     uint8_t ret_key[IMAGE_SUBKEY_BYTES]);
/* Of a file of parity over images, by its random salt: its header's, its frames'. */
void image_key_parity(const struct image_key *key, const uint8_t salt[32],
		      uint8_t ret_header[IMAGE_SUBKEY_BYTES],
		      uint8_t ret_frames[IMAGE_SUBKEY_BYTES]);

#endif /* STILLPOINT_IMAGE_KEY_H */
