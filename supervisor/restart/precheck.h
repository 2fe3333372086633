/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks before a restart: no process of the job runs, the generation exists, the nodes fit.
 * Only precheck_abandon() ends anything: the remains of a job that has lost a node.
 */
#ifndef STILLPOINT_PRECHECK_H
#define STILLPOINT_PRECHECK_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/control/request.h"

struct job;

/* NULL, or a refusal: the job runs here, or may run on another node. */
json_t *precheck_not_running(const struct job *job, bool node_lost);

/*
 * NULL, or a refusal: the job is a replica with files of its own, its images may name those of
 * another member, and @args has no "map_path".
 */
json_t *precheck_replica(const struct job *job, const json_t *args);

/* Set *@generation, if 0, to the newest in L1. NULL, or an outcome if L1 has no such generation. */
json_t *precheck_choose(const struct catalog *catalog, const struct job *job,
		       json_int_t *generation);

/*
 * precheck_place() - place the generation's ranks on nodes
 * @nodes: the nodes to use; NULL: the nodes that the generation was on
 *
 * Return: "ranks" for the job's record (a new reference); NULL with an outcome if they cannot be
 * placed so; NULL without an outcome if the record's "ranks" stay as they are, on one node.
 */
json_t *precheck_place(const struct common *common, const struct job *job, int64_t generation,
		      json_t *nodes, json_t *map, json_t **ret_outcome);

/*
 * precheck_abandon() - end the parts of a job that still run after it lost a node (--node-lost)
 *
 * Without the lost node these parts are useless. Nothing is ended if all nodes of the job answer,
 * or if the restart would be refused.
 *
 * Return: true if either @then is called once the parts have ended, or the request is answered;
 * false if there is nothing to end.
 */
bool precheck_abandon(struct request *request, struct job *job,
		      void (*then)(struct request *request));

/*
 * precheck_await_over() - wait until this node knows that the job is over on all nodes
 *
 * The caller may know that the job was saved, or has ended on its home, before this node has seen
 * or heard of it. Waits a few seconds at most.
 *
 * Return: true if @then is called afterwards; false if there is nothing to wait for.
 */
bool precheck_await_over(struct request *request, const struct job *job,
			void (*then)(struct request *request));

#endif /* STILLPOINT_PRECHECK_H */
