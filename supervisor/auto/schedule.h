/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checkpoints that ckptd takes by itself, of running jobs that are to have them.
 *
 * What is to be done is in the job's record, so it outlives ckptd and goes where the job goes:
 *
 *	auto	{"every_ms": N}		so often; else by what checkpoints cost (advice.h), with
 *		{"mtbf_ms": N}		the time between failures of the job, or
 *		{"node_mtbf_ms": N}	of one of its nodes; default: node_mtbf of ckptd.conf
 *
 * The home of a job over several nodes decides.  What goes to make room is the keeper's (pruner.h).
 */
#ifndef STILLPOINT_SCHEDULE_H
#define STILLPOINT_SCHEDULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/auto/advice.h"
#include "supervisor/daemon.h"

struct schedule_entry;
struct job;
struct schedule;

int schedule_open(struct daemon *daemon, struct schedule **ret_schedule);
void schedule_close(struct schedule *schedule);	/* NULL is fine */

/* Are these settings? NULL, or an outcome. */
json_t *schedule_check(const json_t *settings);
bool schedule_is_on(const struct job *job);
/* Its settings, and when the next one is due; NULL: it is off. A new reference. */
json_t *schedule_describe(const struct job *job);
/* The failure rates that go for a job; @own (or NULL) are asked for before its settings. */
void schedule_rates(const struct job *job, const json_t *own, struct advice_rates *ret_rates);

/* The settings of @job have changed: what was due is not. */
void schedule_changed(struct job *job);

#endif /* STILLPOINT_SCHEDULE_H */
