/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking the levels before generations of L1 are removed. For prune.c, in its worker.
 */
#ifndef STILLPOINT_PRUNE_LEVELS_H
#define STILLPOINT_PRUNE_LEVELS_H

#include "supervisor/storage/prune.h"

/*
 * prune_ask_levels() - keep the generations that a level still waits for
 * @items: ascending; of those that prune->rule would remove, at most one for each level
 *	becomes RETENTION_AWAITED: the newest that the level takes, if it is not there
 *	yet or the level cannot be asked
 * @decide: sets the verdicts
 *
 * Returns {"GENERATION": [LEVEL, ...]}, a new reference: generations that are removed
 * without having been copied to that level. For a level with a rule of its own that cannot
 * be known.
 */
json_t *prune_ask_levels(const struct prune *prune, struct retention_item *items, size_t nr,
			 void (*decide)(const struct prune *prune, struct retention_item *items,
					size_t nr));

#endif /* STILLPOINT_PRUNE_LEVELS_H */
