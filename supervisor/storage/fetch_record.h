/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a job has in L1 beside its images, made anew from them: record and logs.  For fetch.c.
 */
#ifndef STILLPOINT_FETCH_RECORD_H
#define STILLPOINT_FETCH_RECORD_H

#include <jansson.h>

#include "supervisor/storage/fetch.h"

struct image_key;

/*
 * fetch_record_read() - the job's record, as it was when @dir was taken
 * @ret_note: what the checkpoint left there, a new reference; may be NULL
 *
 * NULL: it has none (an older image), or cannot be read.
 */
json_t *fetch_record_read(const char *dir, const struct image_key *key, json_t **ret_note);

/* May who asks have it, by the manifest of @image (inventory.h) of the level in @dir? NULL, or an outcome. */
json_t *fetch_record_owner(const struct fetch *fetch, const struct image_key *key, const char *dir,
			   const json_t *image);

/* The directory of a job that L1 does not know; *@ret_made: there was none. NULL, or an outcome. */
json_t *fetch_record_begin(const struct fetch *fetch, bool *ret_made);

/*
 * fetch_record_complete() - the generation is in L1: so is the job, then
 * @nodes: of its parts; NULL
 * @newest: generation of it that is known of: no number up to it is used again
 * @steps: gets what is lost
 * @ret_run: of the job, when the images were taken
 *
 * NULL, or an outcome.  What is there already stays.
 */
json_t *fetch_record_complete(const struct fetch *fetch, const struct image_key *key,
			      const char *label, int64_t generation, const json_t *nodes,
			      int64_t newest, json_t *steps, json_int_t *ret_run);

/*
 * By the record in an image of @generation in L1: which run of the job (restart.c counts them) it was taken
 * of; -1: that is not known.
 */
json_int_t fetch_record_run(const struct fetch *fetch, const struct image_key *key, int64_t generation);

#endif /* STILLPOINT_FETCH_RECORD_H */
