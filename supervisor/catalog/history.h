/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What checkpoints and restarts of a job have cost: IMAGE_DIR/ID/history, a line of JSON
 * for each, oldest first.  It outlives generations that are removed, and goes with the job.
 *
 *	{"taken": T, "generation": N, "pause_ns": …}	a checkpoint, as history_fields() names
 *	{"taken": T, "restart": N, "total_ns": …, "restore_ns": …}	a restart from generation N,
 *					from the request until the job runs (restart_times.h)
 *	{"taken": T, "generation": N, "level": L, "total_ns": …}	a copy on another level
 *
 * Lines of restarts without "restore_ns" are of an earlier version, whose total is that of the engine
 * alone.
 *
 * It is for looking at and for advice: manifests are the truth, and nothing is restarted by
 * what is written here.  So it is not sealed, and not waited for on the disk: a power
 * cut may cost the last lines.
 */
#ifndef STILLPOINT_HISTORY_H
#define STILLPOINT_HISTORY_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/catalog/catalog.h"

#define HISTORY_FILE	"history"
#define HISTORY_NEW	".history.new"
#define HISTORY_MAX	(128u << 10)	/* then the older half goes */
#define HISTORY_LINE	4096u

/* 0 or negative errno; -E2BIG: longer than a line may be. @row stays the caller's. */
int history_append(const struct catalog *catalog, int64_t job, const json_t *row);

/*
 * history_read() - all lines that can be read, oldest first
 *
 * Those that cannot are left out: a torn one, one of another hand.  No file is an empty list.
 * NULL without memory.
 */
json_t *history_read(const struct catalog *catalog, int64_t job);

/*
 * history_row() - the line of a checkpoint from what it answered
 * @taken: seconds since 1970
 *
 * Known figures only; what is not there stays away.
 */
json_t *history_row(const json_t *result, int64_t generation, int64_t taken);

/* history_restart_row() - the same of a restart from @generation, of what it answered */
json_t *history_restart_row(const json_t *result, int64_t generation, int64_t taken);

/* Copy all figures of @from that a checkpoint's line may have and @row lacks. */
void history_complete(json_t *row, const json_t *from);

#endif /* STILLPOINT_HISTORY_H */
