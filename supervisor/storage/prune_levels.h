/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the levels have to say when generations of L1 are to go.  For prune.c, in its worker.
 */
#ifndef STILLPOINT_PRUNE_LEVELS_H
#define STILLPOINT_PRUNE_LEVELS_H

#include "supervisor/storage/prune.h"

/*
 * prune_ask_levels() - keep what a level still waits for
 * @items: ascending; of those that would go by prune->rule some become RETENTION_AWAITED, at most one for
 *	each level: the newest that it takes, if it is not there yet or cannot be asked
 * @decide: sets the verdicts
 *
 * Returns {"GENERATION": [LEVEL, ...]}, a new reference: what goes and was never copied there.  Of a
 * level with a rule of its own that cannot be known.
 */
json_t *prune_ask_levels(const struct prune *prune, struct retention_item *items, size_t nr,
			 void (*decide)(const struct prune *prune, struct retention_item *items,
					size_t nr));

#endif /* STILLPOINT_PRUNE_LEVELS_H */
