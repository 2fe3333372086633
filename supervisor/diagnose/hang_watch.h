/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hang watch: with the setting diagnose = notify or recover, ckptd diagnoses each MPI job that
 * has its home here again and again (diagnose_every), with the patience of the setting
 * diagnose_patience. A confirmed hang becomes an incident (incident.h) with its evidence, and is
 * then logged, once. When the ranks go on, or the job ends, the incident is closed.
 *
 * With recover the job may be rolled back in place (hang_act.h). A job that was rolled back is not
 * looked at until the patience has passed.
 */
#ifndef STILLPOINT_HANG_WATCH_H
#define STILLPOINT_HANG_WATCH_H

#include "supervisor/diagnose/diagnose.h"

struct hang_watch;

/* @job runs from an earlier generation: vote_release() is next. */
typedef void (*hang_rolled_fn)(struct job *job);

int hang_watch_open(struct jobs *jobs, hang_rolled_fn rolled_back, struct hang_watch **ret_watch);
/* Before the jobs are closed. Diagnoses that are under way are forgotten. NULL is fine. */
void hang_watch_close(struct hang_watch *watch);

#endif /* STILLPOINT_HANG_WATCH_H */
