/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of the phases of I/O that were slower than usual, for ckptctl io report and io anomalies.
 */
#ifndef STILLPOINT_CLI_ANOMALIES_H
#define STILLPOINT_CLI_ANOMALIES_H

#include "ckptctl/cli.h"

/* Print those of one job: @result has "job" and "anomalies". @whole: say also if there is none. */
void cli_anomalies_of_job(const json_t *result, bool whole);
/* Print those of all jobs of a user on a node: @result has "node", "jobs" and "more". */
void cli_anomalies_of_jobs(const json_t *result);

#endif /* STILLPOINT_CLI_ANOMALIES_H */
