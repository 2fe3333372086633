/* SPDX-License-Identifier: GPL-2.0-only */
/* For diff.c alone: contents of files (blobs) in two images. */
#ifndef IMAGE_DIFF_BLOBS_H
#define IMAGE_DIFF_BLOBS_H

#include <jansson.h>
#include <stddef.h>

#include "image/reader.h"

/**
 * diff_blobs() - compare the contents of files in @a and in @b
 * @max: most entries of each list
 * @ret_json: "same", how many there are in both, whatever their numbers; "changed": numbers that
 *	both have, with different contents; "only_a", "only_b": numbers
 *
 * Return: 0, -ENOMEM, or what reading failed with.
 */
int diff_blobs(struct image_reader *a, struct image_reader *b, size_t max, json_t **ret_json);

#endif
