/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hang watch: with the setting diagnose = notify, ckptd diagnoses each MPI job that has its
 * home here again and again (diagnose_every), with the patience of the setting diagnose_patience.
 * A confirmed hang becomes an incident (incident.h) with its evidence, and is then logged, once.
 * When the ranks go on, or the job ends, the incident is closed. It acts on no job.
 */
#ifndef STILLPOINT_HANG_WATCH_H
#define STILLPOINT_HANG_WATCH_H

#include "supervisor/diagnose/diagnose.h"

struct hang_watch;

int hang_watch_open(struct jobs *jobs, struct hang_watch **ret_watch);
/* Before the jobs are closed. Diagnoses that are under way are forgotten. NULL is fine. */
void hang_watch_close(struct hang_watch *watch);

#endif /* STILLPOINT_HANG_WATCH_H */
