/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of jobs that this node has: a directory, root's, with one file for each job.
 *
 *	DIR/JOB		key of the job with this number, as image_key_load() wants a file
 *	DIR/recovery	the site's public key (base64); nobody here has the other half
 *
 * A job that has a key has images that are encrypted with it, whose manifests have a second MAC
 * by it (format.h). A node that has the key accepts no other image of that job. A node without
 * the key has locked images of the job (reader.h), and cannot make one that the others accept.
 *
 * A source of the secret (image_key_secret()) can name the directory:
 *
 *	jobs:DIR[\nSOURCE]	images of a job that has a key in DIR need that key; SOURCE, if it
 *				is there, is the secret of all other images
 *	jobs-only:DIR[\nSOURCE]	and images of a job without such a key are refused, if they are not
 *				sealed with another key of a job
 */
#ifndef STILLPOINT_IMAGE_JOB_KEY_H
#define STILLPOINT_IMAGE_JOB_KEY_H

#include <stdint.h>

#include "base/error.h"
#include "image/format.h"
#include "image/key.h"

#define JOB_KEY_RECOVERY	"recovery"

/* The number of the job in the label of its images, "7-UUID" or "7"; 0: none. */
int64_t job_key_number(const char *label);

/* Make a random key for @job, and @dir if it is missing; durable. -EEXIST: the job has one. */
int job_key_make(const char *dir, int64_t job, struct ckpt_error *error);

/* Keep a key that was made elsewhere. 0 also if it is there; -EEXIST: the job has another one. */
int job_key_put(const char *dir, int64_t job, const uint8_t bytes[IMAGE_KEY_BYTES],
		struct ckpt_error *error);

/* -ENOENT: this node has no key of @job. Wipe the key after use. */
int job_key_read(const char *dir, int64_t job, uint8_t ret_bytes[IMAGE_KEY_BYTES],
		 struct ckpt_error *error);

/* The id that images name the key by (image_key_secret_id()). */
int job_key_id(const uint8_t bytes[IMAGE_KEY_BYTES], uint8_t ret_id[IMAGE_KEY_ID_BYTES]);

/* Forget the key; images of the job cannot be read here any more. -ENOENT: there is none. */
int job_key_remove(const char *dir, int64_t job);

/* Set the site's public key, as base64; NULL: there is none. */
int job_key_set_recovery(const char *dir, const char *public, struct ckpt_error *error);

/*
 * job_key_recover() - open the copy of a job's key in a manifest with the site's secret key
 *
 * -EKEYREJECTED: the copy is for another key than @secret's; -EBADMSG: it is damaged.
 */
int job_key_recover(const struct image_recovery *copy, const uint8_t secret[IMAGE_KEY_BYTES],
		    uint8_t ret_bytes[IMAGE_KEY_BYTES]);

/* For key.c, writer.c and manifest.c only. */

/*
 * image_key_of_job() - the key for images of the job with @label
 * @ret_own: a new key, whose secret is the job's; NULL: the job has none here, so @key is right
 */
int image_key_of_job(const struct image_key *key, const char *label, struct image_key **ret_own,
		     struct ckpt_error *error);
/* The site's copy of the key of a job, for its manifest. Return: false: there is no site's key. */
bool image_key_recovery(const struct image_key *key, struct image_recovery *ret_copy);

#endif /* STILLPOINT_IMAGE_JOB_KEY_H */
