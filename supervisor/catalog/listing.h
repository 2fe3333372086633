/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What there is of a job, generation by generation: from the index as far as it is fresh, from
 * the manifests otherwise.  Manifests may be slow: for workers.
 */
#ifndef STILLPOINT_LISTING_H
#define STILLPOINT_LISTING_H

#include <jansson.h>
#include <stdint.h>

#include "base/log.h"
#include "engine/op/op.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/catalog/catalog_index.h"

/* A job whose generations are looked at. */
struct listing {
	const struct op_env *env;
	const struct catalog *catalog;
	struct catalog_index *index;	/* NULL: without */
	int64_t job;
	const char *label;		/* job_label() */
};

/*
 * listing_row() - as generation_describe(), with "dir", and "pinned" if it is
 *
 * Of one that cannot be read {"generation", "error": text, "errno"}; that is never indexed.
 */
json_t *listing_row(const struct listing *listing, int64_t generation);
/* The same, read from the manifests whatever the index says; it learns. */
json_t *listing_row_read(const struct listing *listing, int64_t generation);

/*
 * Is it, by its row, not this job's at all, or of a key or version that we do not have?  Then nothing of ours is
 * a reason to remove it.
 */
bool listing_is_foreign(const json_t *row);
/*
 * May @generations be removed: is each this job's? That a number is ours does not make the image under it ours.
 * @force: also one of a key or version that we do not have. NULL, or an outcome.
 */
json_t *listing_check_own(const struct listing *listing, const json_t *generations, bool force);

/* Rows of @generations, ascending; the index forgets the others. */
json_t *listing_rows(const struct listing *listing, const json_t *generations);

/* This node's index of @catalog, if it can be used; says in the log why not. In the worker. */
struct catalog_index *listing_index_open(const char *state_dir, const struct catalog *catalog,
					 const struct log *log);
void listing_index_close(const struct log *log, struct catalog_index *index);
/* Path of the index; to be freed. */
char *listing_index_path(const char *state_dir);

#endif /* STILLPOINT_LISTING_H */
