/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's key: 32 random bytes in a file that only root can read.  The key
 * authenticates every image; a node that is to restart another node's images needs
 * the same key.
 *
 * A second key, the secret, encrypts images, if one is configured: 32 random bytes in
 * another such file or in the kernel's keyring.  A node that has only the first key
 * (and keeps copies) can tell whether an image is whole, but cannot read it.
 */
#ifndef STILLPOINT_IMAGE_KEY_H
#define STILLPOINT_IMAGE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define IMAGE_KEY_BYTES	32

struct image_key;	/* opaque; its memory is locked, in no core dump, and wiped when freed */

/**
 * image_key_load() - read a key file
 *
 * Refuses a file that is not regular, is not exactly 32 bytes long, belongs to
 * neither root nor the caller (-EPERM), or that others may access (-EPERM).
 */
int image_key_load(const char *path, struct image_key **ret_key,
		   struct ckpt_error *error);

/* Make a new random key file, mode 0600, durable; -EEXIST if there is one. */
int image_key_create(const char *path, struct ckpt_error *error);

/* As image_key_create(), for a key that there is. */
int image_key_write(const char *path, const uint8_t bytes[IMAGE_KEY_BYTES],
		    struct ckpt_error *error);

/* Key from memory (a test). */
int image_key_from_bytes(const uint8_t bytes[IMAGE_KEY_BYTES],
			 struct image_key **ret_key);

/**
 * image_key_secret() - look for the secret, and add it to the key
 * @source: path of a file as for image_key_load(), or "keyring:DESCRIPTION": a key of type
 *	user that this process, its session or its user has (keyrings(7)); or a directory of jobs'
 *	keys (job_key.h)
 *
 * -ENOENT, -ENOKEY: no secret there.  On failure the key is unchanged, but remembers @source and
 * the cause for the error of opening an encrypted image with it.
 */
int image_key_secret(struct image_key *key, const char *source, struct ckpt_error *error);

/* A key with the secret only: for image_key_seal(), and to check that the secret is there. */
int image_key_secret_only(const char *source, struct image_key **ret_key,
			  struct ckpt_error *error);

/* True if @text has the form of a source of image_key_secret(), a file or a key in the keyring. */
bool image_key_source_ok(const char *text);

/* Add a secret from memory; @where is for messages. */
void image_key_secret_from_bytes(struct image_key *key, const uint8_t bytes[IMAGE_KEY_BYTES],
				 const char *where);
bool image_key_has_secret(const struct image_key *key);

void image_key_destroy(struct image_key *key);	/* NULL is fine */

/*
 * Encrypt a text that lies beside the images with the secret (-ENOKEY without one), and decrypt it
 * again, for the same @purpose only (else -EBADMSG).  Free both results.
 */
int image_key_seal(const struct image_key *key, const char *purpose, const char *text,
		   char **ret_sealed);
int image_key_unseal(const struct image_key *key, const char *purpose, const char *sealed,
		     char **ret_text);

/* Parts of image_key_load() and image_key_secret(): for secret.c. */
int image_key_read(const char *path, uint8_t ret_bytes[IMAGE_KEY_BYTES],
		   struct ckpt_error *error);
void image_key_set_where(struct image_key *key, const char *where);

/* Parts of job_key.c. */
#define IMAGE_KEY_JOBS_NAME	"jobs"		/* how both of these begin */
#define IMAGE_KEY_JOBS		"jobs:"
#define IMAGE_KEY_JOBS_ONLY	"jobs-only:"
#define IMAGE_KEY_JOBS_THEN	"\n"		/* before another source */

/* The site's copy of a job's key, which only the site's secret key opens (crypto_box_seal()). */
struct image_recovery {
	uint8_t public[IMAGE_KEY_BYTES];	/* all zeros: there is no copy */
	uint8_t sealed[IMAGE_KEY_BYTES + 48];
};

/* The directory of jobs' keys; NULL: none. */
const char *image_key_jobs(const struct image_key *key);
/* Name the directory; @only: an image of a job is refused if it is not sealed with a job's key. */
int image_key_set_jobs(struct image_key *key, const char *dir, bool only);
/* A copy of @key with a job's key as its secret; @public: of the site, for copies; or NULL. */
int image_key_own(const struct image_key *key, const uint8_t bytes[IMAGE_KEY_BYTES],
		  const uint8_t *public, struct image_key **ret_own);
/* Is the secret the key of a job?  Then all images need it. */
bool image_key_is_own(const struct image_key *key);
bool image_key_jobs_only(const struct image_key *key);
/* Make the site's copy of the secret. False: there is no site's key. */
bool image_key_copy_for(const struct image_key *key, uint8_t ret_public[IMAGE_KEY_BYTES],
			uint8_t ret_sealed[IMAGE_KEY_BYTES + 48]);

/* For image/ and levels/ only: ids and keys derived from the key; see format.h. */
#define IMAGE_SUBKEY_BYTES	32

void image_key_id(const struct image_key *key, uint8_t ret_id[16]);
void image_key_manifest(const struct image_key *key, const uint8_t image_id[32],
			uint8_t ret_key[IMAGE_SUBKEY_BYTES]);

/* Keys of the chunks of one image. */
struct chunk_keys {
	uint8_t tag[IMAGE_SUBKEY_BYTES];
	uint8_t secret[IMAGE_SUBKEY_BYTES];
	bool encrypted;
	bool blind;			/* the image is encrypted and the secret is missing */
};

/* @secret_id: id of the secret that encrypts the image; NULL: not encrypted. -ENOMEM */
int image_key_chunk(const struct image_key *key, const uint8_t image_id[32],
		    const uint8_t *secret_id, struct chunk_keys **ret_keys);
void chunk_keys_destroy(struct chunk_keys *keys);	/* NULL is fine */

/* The id of the secret; all zeros without one. */
void image_key_secret_id(const struct image_key *key, uint8_t ret_id[16]);
/* The place where the secret was found, or was looked for in vain; "" if none. */
const char *image_key_where(const struct image_key *key);
/* Key of the secret part of an image's manifest (NULL: of texts beside images); needs a secret. */
void image_key_private(const struct image_key *key, const uint8_t *image_id,
		       uint8_t ret_key[IMAGE_SUBKEY_BYTES]);
/* Key of the second MAC of the manifest of a job that has a key; needs a secret. */
void image_key_job_mac(const struct image_key *key, const uint8_t image_id[32],
		       uint8_t ret_key[IMAGE_SUBKEY_BYTES]);
/* Keys of a parity file, by its random salt: one for its header, one for its frames. */
void image_key_parity(const struct image_key *key, const uint8_t salt[32],
		      uint8_t ret_header[IMAGE_SUBKEY_BYTES],
		      uint8_t ret_frames[IMAGE_SUBKEY_BYTES]);

#endif /* STILLPOINT_IMAGE_KEY_H */
