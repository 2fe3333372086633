/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removing a job's generations from the levels. For workers; the caller holds the flusher
 * meanwhile (flusher.h), as a level can be open for writing only once.
 */
#ifndef STILLPOINT_LEVELS_REMOVE_H
#define STILLPOINT_LEVELS_REMOVE_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/storage/common.h"

struct levels_removal {
	const struct common *common;
	int64_t job;
	const char *label;
	const json_t *generations;	/* numbers; NULL: all */
	const char *level;		/* only from this one; NULL: from all */
	bool ended;			/* the job has ended by itself: no generation is needed */
	/* remove the only copy, too, and go on where a level fails */
	bool force;
};

/*
 * levels_remove() - remove generations that have already gone from L1
 *
 * Result: {"levels": {NAME: images removed}, "failed": {NAME: text}}
 *
 * -EBUSY without @force, and nothing is removed: @level is the only place of a generation,
 * or a job that has not ended would have no good generation left, as far as the levels can
 * be asked. Without @force, an image that could not be removed is an error ("begun" in it
 * says so), returned after all else was removed.
 */
json_t *levels_remove(const struct levels_removal *removal);

#endif /* STILLPOINT_LEVELS_REMOVE_H */
