/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was removed from levels, or is to be, and is not to come back: "unwanted" of a job's record,
 * {LEVEL: [N or {"to": N}, ...]}: that generation, or all up to it.
 *
 * It is noted before the removal.  A level that could not remove it then still has it; so a restart takes none
 * of them unless it is asked for by number, and the promoter removes them when the level works again.
 */
#ifndef STILLPOINT_TOMBSTONE_H
#define STILLPOINT_TOMBSTONE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/storage/level_config.h"

/* @unwanted NULL: nothing is. */
bool tombstone_has(const json_t *tombstones, const char *level, int64_t generation);

/*
 * tombstone_add() - a copy with more in it
 * @level: NULL: on all of @levels
 * @generations: these; NULL: all up to @to
 */
json_t *tombstone_add(const json_t *tombstones, const struct level_configs *levels, const char *level,
		     const json_t *generations, int64_t to);

#endif /* STILLPOINT_TOMBSTONE_H */
