/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The schedule: checkpoints that ckptd takes by itself, of running jobs whose record asks for
 * them.
 *
 * The settings are in the job's record, so they outlive ckptd and move with the job:
 *
 *	auto	{"every_ms": N}		the interval; without it the interval follows from the
 *					cost of checkpoints (advice.h), with
 *		{"mtbf_ms": N}		the time between failures of the job, or
 *		{"node_mtbf_ms": N}	of one of its nodes; default: node_mtbf of ckptd.conf
 *
 * Only the home of a job over several nodes schedules its checkpoints. The pruner (pruner.h)
 * decides which generations go to make room.
 */
#ifndef STILLPOINT_SCHEDULE_H
#define STILLPOINT_SCHEDULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/auto/advice.h"

struct schedule_entry;
struct job;
struct job_automatic;
struct jobs;
struct schedule;

int schedule_open(struct jobs *jobs, struct schedule **ret_schedule);
void schedule_close(struct schedule *schedule);	/* NULL is fine */

/*
 * Read the settings "auto" of a request into @ret_settings, for job_automatic_done(); NULL: check
 * them alone. Return: NULL, or an outcome: they are wrong.
 */
json_t *schedule_parse(const json_t *settings, struct job_automatic *ret_settings);
bool schedule_is_on(const struct job *job);
/* @job's settings, and when its next checkpoint is due. A new reference; NULL: it is off. */
json_t *schedule_describe(const struct job *job);
/* The failure rates that apply to a job; @own (or NULL) has precedence over its settings. */
void schedule_rates(const struct job *job, const struct job_automatic *own,
		    struct advice_rates *ret_rates);

/* The settings of @job have changed: forget its entry, and find out anew when one is due. */
void schedule_changed(struct job *job);

#endif /* STILLPOINT_SCHEDULE_H */
