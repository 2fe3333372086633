/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fetching a generation into L1 to restart from: the one that L1 has, if it is good, or
 * else a good one from the cheapest level that has one. Runs in a worker; the caller has
 * claimed the job (catalog.h) and holds the flusher.
 *
 * Where image directories are not shared, this node's own directory is tried first, then
 * that of the node that made the image. An image that this node does not need is only
 * verified, not copied.
 *
 * A job that L1 does not know is found by its number: the manifest of every image holds the
 * job's record ("record").
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
	const char *node;		/* this node */
	int64_t job;
	const char *label;		/* NULL: there is no record in L1 */
	int64_t generation;		/* 0: the newest that can be had */
	bool deep;			/* read images in L1 as a whole before trusting them */
	bool dry_run;			/* only look; copy nothing */
	/* generations not offered unless asked for by number (tombstone.h); NULL */
	const json_t *tombstones;
	const json_t *hosts;		/* {NAME: anything}: the nodes of the cluster; NULL */
	/*
	 * For a job over nodes whose image directories are not shared: the part numbers
	 * that this node needs in L1. The other parts only have to exist somewhere. NULL:
	 * all parts are needed.
	 */
	const json_t *parts;
	/* ranks of the generation, if L1 may lack them (parts.json); NULL */
	const json_t *ranks;
	const char *state_dir;		/* level_config.h; NULL */
	/* how to reach other nodes; NULL: do not ask other nodes */
	const struct level_site *site;
	/* another node whose image directory may have the images; NULL */
	const char *home;
	/* run that the generation's images must be of; NULL: that of the first image */
	const json_t *of_run;
	uid_t uid;			/* user who asks; 0: may fetch any job */
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	void *arg;
};

/*
 * fetch_run() - bring a good generation into L1
 *
 * Result: {"generation": N, "in_l1": bool, "bytes": N, "newest": N, "run": N, "steps":
 * [text, ...], "of_run": N}
 *
 * "run" is the job's run when the checkpoint was taken; a dry run does not know it.
 * "of_run" is the same number if an image here has told it: a node that was lost and has
 * returned may have a generation of the same number of a stale run, whose images must not
 * be mixed with the others. "newest" is the highest generation number that exists anywhere:
 * no new generation may get a number up to it. "in_l1" is always true without a dry run;
 * for a dry run it says that nothing would have to be fetched. "steps" tells what was wrong
 * where and what was fetched from where; it is empty if the generation in L1 was good at
 * once. The error of a failure has "steps", too.
 */
json_t *fetch_run(const struct fetch *fetch);

#endif /* STILLPOINT_FETCH_H */
