/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The history of a job: what its checkpoints and restarts have cost. IMAGE_DIR/ID/history
 * has a line of JSON for each, oldest first. It outlives removed generations, and is
 * removed with the job.
 *
 *	{"taken": T, "generation": N, "pause_ns": …}	a checkpoint, with its figures
 *	{"taken": T, "restart": N, "total_ns": …, "restore_ns": …}	a restart from generation N,
 *					from the request until the job runs (restart_times.h)
 *	{"taken": T, "generation": N, "level": L, "total_ns": …}	a copy on another level
 *
 * A line of a restart without "restore_ns" is of an earlier version, whose total is that of
 * the engine alone.
 *
 * The history is for people and for advice: manifests are the truth, and no restart depends
 * on the history. So the file is neither sealed nor synced: a power cut may cost the last
 * lines.
 */
#ifndef STILLPOINT_HISTORY_H
#define STILLPOINT_HISTORY_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/catalog/catalog.h"

#define HISTORY_FILE	"history"
#define HISTORY_NEW	".history.new"
#define HISTORY_MAX	(128u << 10)	/* when it is full, the older half is dropped */
#define HISTORY_LINE	4096u

/* 0 or negative errno; -E2BIG: longer than a line may be. @row stays the caller's. */
int history_append(const struct catalog *catalog, int64_t job, const json_t *row);

/*
 * history_read() - all readable lines, oldest first
 *
 * Unreadable lines are skipped: torn or foreign ones. No file gives an empty list. NULL: no
 * memory.
 */
json_t *history_read(const struct catalog *catalog, int64_t job);

/*
 * history_row() - make the line of a checkpoint from its outcome
 * @taken: seconds since 1970
 *
 * Copies known figures only; a missing figure stays missing.
 */
json_t *history_row(const json_t *result, int64_t generation, int64_t taken);

/* history_restart_row() - make the line of a restart from @generation, from its outcome */
json_t *history_restart_row(const json_t *result, int64_t generation, int64_t taken);

/* Copy all figures of @from that a checkpoint's line may have and @row lacks. */
void history_complete(json_t *row, const json_t *from);

#endif /* STILLPOINT_HISTORY_H */
