/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removing the generations of a job that a rule does not keep.  For workers.
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
	const char *node;		/* ours: whose claims are known to be old */
	const char *state_dir;		/* as struct level_user has it */
	const json_t *generations;	/* ascending; what is newer is not looked at */
	int64_t undecided;		/* may still be given up; 0: none */
	const struct level_configs *levels;	/* what else there is; NULL: nothing */
	const json_t *tombstones;		/* tombstone.h: what levels are not to have */
};

/*
 * prune_job() - decide, and remove the oldest first
 *
 *	{"job": J, "removed": [{"generation", "bytes", "why"}, ...], "kept": [the same],
 *	 "failed": [{"generation", "text"}, ...], "freed": bytes}
 *	Of what was removed and a level that takes it never got, "missed": [LEVEL, ...].
 *	{"job": J, "skipped": text, "errno": positive}	nothing was done, and why
 *
 * Of a dry run "removed" is what would be.  Cut off at any instant it leaves whole generations
 * and what the next dump sweeps away.
 */
json_t *prune_job(const struct prune *prune);

#endif /* STILLPOINT_PRUNE_H */
