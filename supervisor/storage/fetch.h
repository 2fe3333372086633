/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Having a generation in L1 to restart from: the one that is there, if it is good, or one from
 * the cheapest level that has a good one.  For a worker; the job is claimed (catalog.h) and the
 * promoter held.
 *
 * Where image directories are not shared, that of the node that made the image comes after our own,
 * and what is there of an image that is not wanted here is only looked at.
 *
 * A job of which L1 knows nothing is found by its number: its record is in the manifest of every
 * image ("record").
 */
#ifndef STILLPOINT_FETCH_H
#define STILLPOINT_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/storage/level_config.h"

struct fetch {
	const struct catalog *catalog;
	const struct level_configs *levels;
	const char *node;		/* ours */
	int64_t job;
	const char *label;		/* NULL: there is no record in L1 */
	int64_t generation;		/* 0: the newest that can be had */
	bool deep;			/* what is in L1 is read as a whole before it is believed */
	bool dry_run;			/* only look, nothing is copied */
	const json_t *tombstones;		/* tombstone.h: not offered, unless asked for by number; NULL */
	const json_t *hosts;		/* {NAME: anything}: nodes there are; NULL */
	/*
	 * Of a job over nodes whose image directories are not shared: numbers of the images that are
	 * wanted here; the others have to be somewhere. NULL: all of them.
	 */
	const json_t *parts;
	const json_t *ranks;		/* of the generation, if L1 need not know them (parts.json); NULL */
	const char *state_dir;		/* level_config.h; NULL */
	const struct level_site *site;	/* how other nodes are reached; NULL: they are not */
	const char *home;		/* another node whose image directory may have what is wanted; NULL */
	const json_t *of_run;		/* the run of the generation's images; NULL: whichever the first is of */
	uid_t uid;			/* who asks; 0: may have any job */
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	void *arg;
};

/*
 * fetch_run() - result {"generation": N, "in_l1": bool, "bytes": N, "newest": N, "run": N,
 * "steps": [text, ...]}
 *
 * "run" is the job's at the time of that checkpoint, not known of a dry run; "of_run" is the same if an
 * image here has told it: a node that was lost and is back may have a generation of that number of a run
 * that was given up, and its images do not belong to the others; "newest" is the highest number that there is anywhere: no generation may get one up to it any more.
 * "in_l1" without a dry run is always true then; of a dry run it says whether nothing would have to
 * be fetched.  "steps" say what was wrong where and what was fetched from where; empty if the one
 * in L1 was good at once.  The error of a failure has them, too.
 */
json_t *fetch_run(const struct fetch *fetch);

#endif /* STILLPOINT_FETCH_H */
