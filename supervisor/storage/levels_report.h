/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reporting the levels' state to users: in lists, and by ckptctl doctor. For workers.
 */
#ifndef STILLPOINT_LEVELS_REPORT_H
#define STILLPOINT_LEVELS_REPORT_H

#include <jansson.h>

#include "supervisor/catalog/window.h"
#include "supervisor/storage/common.h"

/*
 * levels_report_list() - add the state of each generation on every level, as
 *	inventory_levels() returns it, to the rows of @jobs (an answer of verb_list())
 * @one: list one job: look into all nodes' directories, not only those of the job's nodes
 * @window: @jobs has L1's generations in the window; levels add theirs that are in the window
 *
 * A generation that only a level has gets a row, {"generation", "created", "bytes_stored",
 * "levels"}. Without levels in the configuration nothing is changed.
 */
void levels_report_list(const struct common *common, json_t *jobs, bool one,
			const struct window *window);

/* Append one check for each level, as op_doctor() has them, to @checks. */
void levels_report_check(const struct common *common, json_t *checks);

#endif /* STILLPOINT_LEVELS_REPORT_H */
