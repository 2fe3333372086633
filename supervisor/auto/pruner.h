/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pruner: removes generations, by the configuration's rule after each commit, and by a
 * request's rule when asked.
 *
 * After commits one worker at a time prunes a job; nothing waits for it. Requests that need the
 * job's images to stay as they are (restart, rm; job_events.h) end the worker; a request that
 * waits for the worker is answered with -EINTR.
 */
#ifndef STILLPOINT_PRUNER_H
#define STILLPOINT_PRUNER_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/control/request.h"
#include "supervisor/catalog/retention.h"

struct job;
struct jobs;
struct pruner;

int pruner_open(struct jobs *jobs, struct pruner **ret_pruner);
void pruner_close(struct pruner *pruner);	/* NULL is fine */

/*
 * pruner_add() - append @job to the list of jobs to prune
 *
 * The job's generations are listed now: those that appear later are not looked at.
 */
void pruner_add(const struct job *job, json_t *targets);
/* Prune @targets (taken over), and answer @request. */
void pruner_prune(struct pruner *pruner, struct request *request, json_t *targets,
		  const struct retention_rule *rule, bool dry_run);

/* NULL if this node may change the generations of @job now; else an outcome that refuses. */
json_t *pruner_check(const struct job *job);
/* The outcome that refuses to remove a pinned generation. */
json_t *pruner_pinned(int64_t job, int64_t generation);

#endif /* STILLPOINT_PRUNER_H */
