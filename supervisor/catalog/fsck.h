/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checking the catalog, and repairing what is safe to repair. For workers.
 *
 * A finding:
 *	{"kind": word, "job": J (0: none), "generation": N (if it concerns one), "path": path,
 *	 "text": what was found, "means": what it means, "repair": what repairing would do (if
 *	 anything), "repaired": bool, "failed": why repairing failed}
 *
 * Repairing removes only files that no restart could use, and never a committed generation;
 * it needs the catalog's lock of the job. Images that may be being written are left alone,
 * and so is a job that has been restarted since the check was requested.
 */
#ifndef STILLPOINT_FSCK_H
#define STILLPOINT_FSCK_H

#include <jansson.h>

#include "supervisor/catalog/listing.h"

struct fsck {
	struct listing listing;		/* its job and label are set for each job */
	const char *node;		/* this node: its own claims are known to be old */
	bool deep;			/* read every chunk */
	bool repair;
	/* levels exist that may have images which are gone here */
	bool levels;
	bool alive;			/* the job being checked is alive */
	json_t *findings;
	json_t *left_alone;		/* paths of images that may be being written */
	unsigned int generations;	/* generations checked */
};

/*
 * fsck_asked() - what is known of a job at the time of the request; fsck_job() may run
 *	hours later, and does not repair what has happened to the job since
 * @alive: the job runs, as far as is known, or an operation on it is in progress
 *
 * {"job", "label", "alive", "state", "node", "run", "claim": catalog_claim_stamp(),
 * "decided_to": no checkpoint up to this number is being taken}
 */
json_t *fsck_asked(const struct catalog *catalog, int64_t job, const char *label,
		   const json_t *record, bool alive);
/* Check a job whose record could be read. */
void fsck_job(struct fsck *fsck, const json_t *asked);
/* Check for job directories without a record, or with one that cannot be read. */
void fsck_strangers(struct fsck *fsck);
/* Check that the index at @path is usable; it is compared with the manifests later. */
void fsck_index(struct fsck *fsck, const char *path);

/* {"findings", "left_alone", "generations", "open": findings that are not repaired} */
json_t *fsck_result(const struct fsck *fsck);

#endif /* STILLPOINT_FSCK_H */
