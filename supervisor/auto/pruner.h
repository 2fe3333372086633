/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeping the number of generations in bounds: by the configuration's rule after each commit,
 * and when it is asked for.  One worker at a time for a job; nothing else waits for it, and
 * what needs the job's images to stay as they are (restart, rm) ends it.
 */
#ifndef STILLPOINT_PRUNER_H
#define STILLPOINT_PRUNER_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/control/request.h"
#include "supervisor/catalog/retention.h"

struct job;
struct pruner;

int pruner_open(struct daemon *daemon, struct pruner **ret_pruner);
void pruner_close(struct pruner *pruner);	/* NULL is fine */

/* Whatever is being removed of the job: no more of it. */
void pruner_stop(struct pruner *pruner, int64_t job);
/*
 * pruner_yield() - the same, for one who has just claimed the job for a restart
 *
 * NULL, or an outcome: on another node they are being removed. Who removes looks for a claim
 * when he has the catalog's lock, so one of the two sees the other.
 */
json_t *pruner_yield(struct pruner *pruner, int64_t job);

/*
 * pruner_add() - put @job on the list of those to be pruned
 *
 * As it is now: generations that appear later are not looked at.
 */
void pruner_add(const struct job *job, json_t *targets);
/* Prune @targets (taken over), and answer @request. */
void pruner_prune(struct pruner *pruner, struct request *request, json_t *targets,
		  const struct retention_rule *rule, bool dry_run);

/* NULL if the generations of @job may be changed from this node now. */
json_t *pruner_check(const struct job *job);
/* An outcome: that generation is not removed. */
json_t *pruner_pinned(int64_t job, int64_t generation);

#endif /* STILLPOINT_PRUNER_H */
