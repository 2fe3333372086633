/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What people are told of levels: in lists, and by the doctor.  For workers.
 */
#ifndef STILLPOINT_LEVELS_REPORT_H
#define STILLPOINT_LEVELS_REPORT_H

#include <jansson.h>

#include "supervisor/daemon.h"

/*
 * levels_report_list() - put into each row of @jobs (as verb_list() answers) the state of its
 *	generation on every level, as inventory_levels() has it
 * @one: of one job: all nodes' directories are looked into, not only those of its nodes
 *
 * Generations that only another level has get a row, {"generation", "created", "bytes_stored",
 * "levels"}.  Without levels in the configuration nothing is changed.
 */
void levels_report_list(const struct daemon *daemon, json_t *jobs, bool one);

/* One check for each level, as op_doctor() has them; appended to @checks. */
void levels_report_check(const struct daemon *daemon, json_t *checks);

#endif /* STILLPOINT_LEVELS_REPORT_H */
