/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removing the generations of a job that a rule does not keep. For workers. The levels are
 * not changed: only L1 is pruned here.
 */
#ifndef STILLPOINT_PRUNE_H
#define STILLPOINT_PRUNE_H

#include <jansson.h>

#include "supervisor/catalog/listing.h"
#include "supervisor/catalog/retention.h"
#include "supervisor/storage/level_config.h"

struct prune {
	struct listing listing;
	struct retention_rule rule;
	bool dry_run;
	const char *node;		/* this node: its own claims do not count */
	const char *state_dir;		/* as struct level_user has it */
	const json_t *generations;	/* ascending; newer ones are not looked at */
	int64_t undecided;		/* generation that may still be abandoned; 0: none */
	const struct level_configs *levels;	/* NULL: there are no levels */
	/* tombstone.h: generations that levels must not get */
	const json_t *tombstones;
};

/*
 * prune_job() - decide, and remove the oldest first
 *
 *	{"job": J, "removed": [{"generation", "bytes", "why"}, ...], "kept": [the same],
 *	 "failed": [{"generation", "text"}, ...], "freed": bytes}
 *	A removed generation that a level takes but never got has "missed": [LEVEL, ...].
 *	{"job": J, "skipped": text, "errno": positive}	nothing was done, and why
 *
 * A dry run lists in "removed" what would be removed. A run cut off at any instant leaves
 * whole generations, and leftovers that the next dump sweeps away.
 */
json_t *prune_job(const struct prune *prune);

#endif /* STILLPOINT_PRUNE_H */
