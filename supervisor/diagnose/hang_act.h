/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Acts on confirmed hangs, as act_choose() says: the act is noted in the incident first, so that no
 * crash of ckptd makes it act twice, then the job is rolled back in place, and the end of that is
 * noted, too. A job whose processes cannot stay runs on as it was: no job is ended.
 */
#ifndef STILLPOINT_DIAGNOSE_HANG_ACT_H
#define STILLPOINT_DIAGNOSE_HANG_ACT_H

#include "supervisor/diagnose/act.h"
#include "supervisor/job/jobs.h"

struct hang_act;
/*
 * Called once, later: all is done, and noted if that was possible.
 * @generation: the job runs from it now, and vote_release() is next; 0: it was not rolled back
 */
typedef void (*hang_act_fn)(int64_t generation, void *arg);

/*
 * hang_act_start() - act on the hang of a job
 * @incident: the result of INCIDENT_CONFIRM (incidents.h); stays the caller's
 *
 * Return: 0: @fn will be called; 1: there is nothing to do; negative errno
 */
int hang_act_start(struct job *job, const json_t *incident, hang_act_fn fn, void *arg,
		   struct hang_act **ret_act);
/* @fn is not called any more; a rollback that is under way goes on. NULL is fine. */
void hang_act_forget(struct hang_act *act);

#endif /* STILLPOINT_DIAGNOSE_HANG_ACT_H */
