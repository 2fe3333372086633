/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removing a job's generations from the levels.  For workers; the promoter is held meanwhile
 * (flusher.h), for a level is open for writing once.
 */
#ifndef STILLPOINT_LEVELS_REMOVE_H
#define STILLPOINT_LEVELS_REMOVE_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/daemon.h"

struct levels_removal {
	const struct daemon *daemon;
	int64_t job;
	const char *label;
	const json_t *generations;	/* numbers; NULL: all */
	const char *level;		/* only from this one; NULL: from all */
	bool ended;			/* the job has come to its own end: nothing of it is needed */
	bool force;			/* also where it is the only place; and go on where a level fails */
};

/*
 * levels_remove() - result {"levels": {NAME: images removed}, "failed": {NAME: text}}
 *
 * What is to go from L1 has gone.  -EBUSY without @force, and nothing is removed: from one level,
 * of which the generation is nowhere else; or nothing that is good would be left anywhere of a job that
 * has not ended, as far as the levels can be asked. What could not be
 * removed is an error without @force ("begun" in it says so), after all else was removed.
 */
json_t *levels_remove(const struct levels_removal *removal);

#endif /* STILLPOINT_LEVELS_REMOVE_H */
