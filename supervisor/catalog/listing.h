/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generations of a job, from the index as far as it is fresh, and otherwise from the
 * manifests. For workers, as reading manifests may be slow.
 */
#ifndef STILLPOINT_LISTING_H
#define STILLPOINT_LISTING_H

#include <jansson.h>
#include <stdint.h>

#include "base/log.h"
#include "engine/op/op.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/catalog/catalog_index.h"

/* A job whose generations are listed. */
struct listing {
	const struct op_env *env;
	const struct catalog *catalog;
	struct catalog_index *index;	/* NULL: no index is used */
	int64_t job;
	const char *label;		/* job_label() */
	bool in_part;			/* not all generations are listed: trim no index */
};

/*
 * listing_row() - as generation_describe(), with "dir", "trust", and "pinned" if it is pinned
 *
 * An unreadable generation gives {"generation", "error": text, "errno"}, which is never
 * indexed.
 */
json_t *listing_row(const struct listing *listing, int64_t generation);
/* The same, read from the manifests whatever the index says; the index is updated. */
json_t *listing_row_read(const struct listing *listing, int64_t generation);

/*
 * True if the row is of another job, or of a key or version that this node does not have.
 * No rule of this job is then a reason to remove the image.
 */
bool listing_is_foreign(const json_t *row);
/*
 * Check that all @generations may be removed: each must be this job's, as an image under
 * this job's number may still be another's.
 * @force: accept an image of a key or version that this node does not have
 *
 * Return: NULL, or an outcome.
 */
json_t *listing_check_own(const struct listing *listing, const json_t *generations, bool force);

/* Rows of @generations, ascending; the index forgets all others. */
json_t *listing_rows(const struct listing *listing, const json_t *generations);

/* This node's index; NULL: unusable, and the log says why. Call in the worker. */
struct catalog_index *listing_index_open(const char *state_dir, const struct catalog *catalog,
					 const struct log *log);
void listing_index_close(const struct log *log, struct catalog_index *index);
/* Path of the index; the caller frees it. */
char *listing_index_path(const char *state_dir);

#endif /* STILLPOINT_LISTING_H */
