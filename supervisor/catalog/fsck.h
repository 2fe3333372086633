/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the catalog what it should be?  For workers.
 *
 * A finding:
 *	{"kind": word, "job": J (0: none), "generation": N (if it is about one), "path": path,
 *	 "text": what was found, "means": what it means, "repair": what repairing would do (if
 *	 anything), "repaired": bool, "failed": why it could not be}
 *
 * Repairing removes only what no restart could use, and never a committed generation; it is
 * tried with the catalog's lock of the job.  What may be in the making is left alone, and so is a job that
 * somebody has restarted since it was asked for.
 */
#ifndef STILLPOINT_FSCK_H
#define STILLPOINT_FSCK_H

#include <jansson.h>

#include "supervisor/catalog/listing.h"

struct fsck {
	struct listing listing;		/* its job and label are set for each, alive too */
	const char *node;		/* ours: whose claims are known to be old */
	bool deep;			/* read every chunk */
	bool repair;
	bool levels;			/* there are others, which may have what is gone here */
	bool alive;			/* the job that is looked at */
	json_t *findings;
	json_t *left_alone;		/* paths of what may be in the making */
	unsigned int generations;	/* looked at */
};

/*
 * fsck_asked() - what is known of a job when somebody asks; fsck_job() may come to it hours later, and
 * what has been done with the job since is not repaired
 * @alive: it runs, as far as is known, or something is done to it
 *
 * {"job", "label", "alive", "state", "node", "run", "claim": catalog_claim_stamp(), "decided_to": no checkpoint up to
 * this number is in the making}
 */
json_t *fsck_asked(const struct catalog *catalog, int64_t job, const char *label, const json_t *record,
		   bool alive);
/* Of a job whose record could be read. */
void fsck_job(struct fsck *fsck, const json_t *asked);
/* Jobs' directories without a record, or with one that cannot be read. */
void fsck_strangers(struct fsck *fsck);
/* The index at @path: is it usable, and does it say what the manifests say? */
void fsck_index(struct fsck *fsck, const char *path);

/* {"findings", "left_alone", "generations", "open": findings that are not repaired} */
json_t *fsck_result(const struct fsck *fsck);

#endif /* STILLPOINT_FSCK_H */
