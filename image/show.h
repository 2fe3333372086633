/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image described as JSON, for ckptctl show, verify and diff.
 */
#ifndef STILLPOINT_IMAGE_SHOW_H
#define STILLPOINT_IMAGE_SHOW_H

#include <stdbool.h>
#include <jansson.h>

#include "base/error.h"
#include "image/reader.h"

#define IMAGE_SHOW_RECORDS	(1U << 0)	/* every record: type, version, len, key */
#define IMAGE_SHOW_RUNS		(1U << 1)	/* every page run */

/*
 * image_show_json() - describe manifest, files, processes, memory maps, blobs; if the reader is
 * locked, only manifest and files
 * @ret_json: a new reference
 */
int image_show_json(struct image_reader *r, unsigned int flags, json_t **ret_json,
		    struct ckpt_error *error);

/*
 * image_diff_json() - describe the differences between two images
 *
 * Records are matched by what they describe (pid, tid, mapping, descriptor, …),
 * memory maps by their process.  "equal": true if nothing but the identity of
 * the images and timing differs.
 */
int image_diff_json(struct image_reader *a, struct image_reader *b,
		    json_t **ret_json, struct ckpt_error *error);

/*
 * Findings of image_verify() as {"ok": bool, "findings": […]}; for a locked image also
 * "unchecked": ["text"], naming the parts that were not checked.
 *
 * Return: as image_verify().
 */
int image_verify_json(const char *dir, const struct image_key *key,
		      const struct image_expect *expect, bool deep,
		      json_t **ret_json);

#endif /* STILLPOINT_IMAGE_SHOW_H */
