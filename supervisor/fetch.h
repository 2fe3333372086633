/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Having a generation in L1 to restart from: the one that is there, if it is good, or one from
 * the cheapest level that has a good one.  For a worker; the job is claimed (catalog.h) and the
 * promoter held.
 *
 * A job of which L1 knows nothing is found by its number: its record is in the manifest of every
 * image ("record").
 */
#ifndef STILLPOINT_FETCH_H
#define STILLPOINT_FETCH_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/catalog.h"
#include "supervisor/tiers.h"

struct fetch {
	const struct catalog *catalog;
	const struct tiers *tiers;
	const char *node;		/* ours */
	int64_t job;
	const char *label;		/* NULL: there is no record in L1 */
	int64_t generation;		/* 0: the newest that can be had */
	bool deep;			/* what is in L1 is read as a whole before it is believed */
	bool dry_run;			/* only look, nothing is copied */
	const json_t *unwanted;		/* unwanted.h: not offered, unless asked for by number; NULL */
	const json_t *hosts;		/* {NAME: anything}: nodes there are; NULL */
	uid_t uid;			/* who asks; 0: may have any job */
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	void *arg;
};

/*
 * fetch_run() - result {"generation": N, "in_l1": bool, "bytes": N, "newest": N, "steps":
 * [text, ...]}
 *
 * "newest" is the highest number that there is anywhere: no generation may get one up to it any more.
 * "in_l1" without a dry run is always true then; of a dry run it says whether nothing would have to
 * be fetched.  "steps" say what was wrong where and what was fetched from where; empty if the one
 * in L1 was good at once.  The error of a failure has them, too.
 */
json_t *fetch_run(const struct fetch *fetch);

#endif /* STILLPOINT_FETCH_H */
