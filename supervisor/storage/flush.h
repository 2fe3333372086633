/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copying what is missing on the levels, and removing what their rules do not keep.  For a worker.
 *
 * What is missing where is asked of the levels themselves, each time: a promotion that was cut off
 * at any instant is gone on with by the next.
 */
#ifndef STILLPOINT_FLUSH_H
#define STILLPOINT_FLUSH_H

#include <jansson.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/storage/level_config.h"

struct flush {
	const struct catalog *catalog;
	const struct level_configs *levels;
	const char *node;		/* ours */
	const char *state_dir;		/* as struct level_user has it */
	/*
	 * [{"job": J, "label": L, "generations": [n, ...], "undecided": N, "unwanted": (tombstone.h)},
	 * ...]; what is newer is not looked at
	 */
	const json_t *targets;
	const json_t *bad;		/* {NAME or LEVEL/NAME: text}: not to be tried again */
	unsigned int usable;		/* levels, as bits */
	const char *secret;		/* image_key_secret(), for what is merged; NULL: none */
	uint64_t merge_limit;		/* bytes a second, of what is merged first; 0: none */
	uint64_t merge_memory;		/* as struct image_merge_options has it */
	/* For each copy and removal, when it is done; takes the reference. Or NULL. */
	void (*event)(json_t *event, void *arg);
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	bool (*stop)(void *arg);	/* asked between copies: no more of them now; or NULL */
	void *arg;
};

/*
 * flush_run() - until nothing is missing on the levels that work, or promotion->stop
 *
 * What is unwanted on a level goes from it, if something else that is good stays of the job.
 *
 * Events: {"copied": true, "job", "generation", "level", "bytes", "total_ns", "part"}, with "part"
 * where it is of several nodes; {"removed": true, "job", "generation", "level", "why"};
 * {"merged": true, "job", "generation", "bytes", "total_ns"}: it stood on earlier ones, which no level takes;
 * {"failed": true, "job", "generation", "level", "text", "damaged"}, without "level" if it
 * cannot be copied at all, "damaged" if its pages or those that it stands on turned out to be.
 *
 * Result: {"levels": {NAME: {"errno", "text"}}, "bad": {NAME or LEVEL/NAME: text}, "left": N}: levels that did not
 * work, images that cannot be copied ("bad" of before, without those that L1 has not any more), and how many
 * copies are still to be made.
 */
json_t *flush_run(const struct flush *flush);

/* Of the job of that label nothing is left out of @bad any more: its images have changed. */
void flush_forget(json_t *bad, const char *label);

#endif /* STILLPOINT_FLUSH_H */
