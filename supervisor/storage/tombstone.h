/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tombstones: generations that were removed from levels, or are to be, and must not come
 * back. They are "unwanted" of a job's record, {LEVEL: [N or {"to": N}, ...]}: that
 * generation, or all up to it.
 *
 * A tombstone is written before the removal. A level that could not carry the removal out
 * still has the generation, so a restart takes it only if asked for it by number, and the
 * flusher removes it when the level works again.
 */
#ifndef STILLPOINT_TOMBSTONE_H
#define STILLPOINT_TOMBSTONE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/storage/level_config.h"

/* True if the generation has a tombstone on that level. @tombstones NULL: there are none. */
bool tombstone_has(const json_t *tombstones, const char *level, int64_t generation);

/*
 * tombstone_add() - a copy of @tombstones with more entries
 * @level: NULL: on all of @levels
 * @generations: these; NULL: all up to @to
 */
json_t *tombstone_add(const json_t *tombstones, const struct level_configs *levels,
		      const char *level, const json_t *generations, int64_t to);

#endif /* STILLPOINT_TOMBSTONE_H */
