/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recreating the record and the logs of a job in L1 from its images. For fetch.c only.
 * Existing files stay: only what is missing is made.
 */
#ifndef STILLPOINT_FETCH_RECORD_H
#define STILLPOINT_FETCH_RECORD_H

#include <jansson.h>

#include "supervisor/storage/fetch.h"

struct image_key;

/*
 * fetch_record_read() - read the job's record as it was when the image @dir was taken
 * @ret_note: the note that the checkpoint left there, a new reference; may be NULL
 *
 * NULL: the image has no record (an older image), or cannot be read.
 */
json_t *fetch_record_read(const char *dir, const struct image_key *key, json_t **ret_note);
/* An outcome if the image is unreadable only because its secret is missing; else NULL. */
json_t *fetch_record_locked(const char *dir, const struct image_key *key);

/*
 * Check by the manifest of @image (inventory.h), on the level at @dir, whether the user may
 * have the job. NULL, or an outcome.
 */
json_t *fetch_record_owner(const struct fetch *fetch, const struct image_key *key, const char *dir,
			   const json_t *image);

/*
 * Make the directory of a job that L1 does not know; *@ret_made: it did not exist. NULL, or
 * an outcome.
 */
json_t *fetch_record_begin(const struct fetch *fetch, bool *ret_made);

/*
 * fetch_record_complete() - write the record and logs of a job whose generation is in L1
 * @nodes: names of the nodes of its parts; NULL: it is one image
 * @newest: highest generation number known: no number up to it is used again
 * @steps: gets a line for each thing that is lost
 * @ret_run: run of the job when the images were taken
 *
 * NULL, or an outcome. Existing files stay as they are.
 */
json_t *fetch_record_complete(const struct fetch *fetch, const struct image_key *key,
			      const char *label, int64_t generation, const json_t *nodes,
			      int64_t newest, json_t *steps, json_int_t *ret_run);

/*
 * The run of the job (restart.c counts runs) in which @generation in L1 was taken, by the
 * record in one of its images; -1: not known.
 */
json_int_t fetch_record_run(const struct fetch *fetch, const struct image_key *key,
			    int64_t generation);

#endif /* STILLPOINT_FETCH_RECORD_H */
