/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copying images to the levels that lack them, and removing what the levels' rules do not
 * keep. Runs in a worker.
 *
 * The levels themselves are asked each time what they have: a flush that was cut off at any
 * instant is continued by the next one.
 */
#ifndef STILLPOINT_FLUSH_H
#define STILLPOINT_FLUSH_H

#include <jansson.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/storage/level_config.h"

struct flush {
	const struct catalog *catalog;
	const struct level_configs *levels;
	const char *node;		/* this node */
	const char *state_dir;		/* as struct level_user has it */
	/*
	 * [{"job": J, "label": L, "generations": [n, ...], "undecided": N,
	 *   "unwanted": (tombstone.h)}, ...]; newer generations are not looked at
	 */
	const json_t *targets;
	const json_t *bad;		/* {NAME or LEVEL/NAME: text}: do not try these again */
	unsigned int usable;		/* levels, as bits */
	const char *secret;		/* image_key_secret(), for merging; NULL: none */
	uint64_t merge_limit;		/* bytes a second for merging; 0: no limit */
	uint64_t merge_memory;		/* as struct image_merge_options has it */
	/* Called after each copy and removal; takes the reference. NULL: not called. */
	void (*event)(json_t *event, void *arg);
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	/* asked between copies; true: make no more copies now; NULL: never */
	bool (*stop)(void *arg);
	void *arg;
};

/*
 * flush_run() - copy until no working level lacks an image, or flush->stop returns true
 *
 * An image with a tombstone for a level is removed from it if another good image of the job
 * stays.
 *
 * Events: {"copied": true, "job", "generation", "level", "bytes", "total_ns", "part"},
 * "part" only for a generation of several nodes;
 * {"removed": true, "job", "generation", "level", "why"};
 * {"merged": true, "job", "generation", "bytes", "total_ns"}: the image was based on
 * earlier ones, which no level takes;
 * {"failed": true, "job", "generation", "level", "text", "damaged"}: no "level" if no level
 * can take the image; "damaged" if its pages or those of its bases turned out to be
 * damaged.
 *
 * Result: {"levels": {NAME: {"errno", "text"}}, "bad": {NAME or LEVEL/NAME: text}, "left":
 * N}: levels that failed; images that cannot be copied (the old "bad" without images that
 * have gone from L1); how many copies are still to be made.
 */
json_t *flush_run(const struct flush *flush);

/*
 * Remove all images of the job @label from @bad: they have changed, so they may be tried
 * again.
 */
void flush_forget(json_t *bad, const char *label);

#endif /* STILLPOINT_FLUSH_H */
