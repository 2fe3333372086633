// SPDX-License-Identifier: GPL-2.0-only
/*
 * See driver_box.h: of what libcoord.a calls that which has nothing to play, because there are two
 * nodes with a rank each, and nobody to be told.
 */
#include <errno.h>
#include <stdlib.h>

#include "supervisor/catalog/generation.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/control/worker.h"
#include "tests/unit/driver_box.h"

void log_line(const struct log *log, enum log_level level, const char *format, ...)
{
}

struct common *jobs_common(const struct jobs *jobs)
{
	return &box_node_of(jobs)->common;
}

int parts_host(const struct parts *parts, unsigned int node)
{
	return (int)node;
}

bool parts_is_node(const struct parts *parts, unsigned int host)
{
	return host < BOX_NODES;
}

bool parts_is_homes(const struct parts *parts, unsigned int host)
{
	return parts->node && !host;
}

void peer_node(const struct peer *peer, unsigned int node, struct peer_node *ret_node)
{
	*ret_node = (struct peer_node) { .name = "n1", .root = true };
}

const char *parts_name(const struct parts *parts, unsigned int node)
{
	return node ? "n2" : "n1";
}

json_t *parts_silent(const struct parts *parts)
{
	return NULL;
}

const char *parts_first_ended(const struct parts *parts)
{
	const struct box_node *home = box_node_of(parts->common);

	return !parts->node && !home[1].job.init ? "n2" : NULL;
}

struct job *parts_job(struct jobs *jobs, int64_t id, uint64_t run)
{
	return &box_node_of(jobs)->job;
}

const char *job_label(const struct job *job, char *buf)
{
	return "1-box";
}

json_t *rank_record_spec(const json_t *record, unsigned int node, const struct config *config)
{
	return json_pack("{s:i}", "node", (int)node);
}

bool rank_record_has_mpi(const json_t *record)
{
	return true;
}

bool rank_record_is_apart(const json_t *record)
{
	return false;
}

int ranks_parse(const json_t *json, struct ranks *ret_ranks, struct ckpt_error *error)
{
	unsigned int *node_of_rank = malloc(BOX_NODES * sizeof(*node_of_rank));

	for (unsigned int i = 0; i < BOX_NODES; i++)
		node_of_rank[i] = i;
	*ret_ranks = (struct ranks) {
		.size = BOX_NODES, .nr_nodes = BOX_NODES, .nr = 1, .node_of = node_of_rank,
		.node = (unsigned int)json_integer_value(json_object_get(json, "node")),
	};
	return 0;
}

void ranks_done(struct ranks *ranks)
{
	free(ranks->node_of);
}

void job_events_committed(struct job *job, const struct job_commit *commit)
{
	box_node_of(job->jobs)->flushes++;
}

json_t *generation_describe(const struct op_env *env, const struct catalog *catalog,
			    int64_t job, int64_t generation, const char *label)
{
	return NULL;
}

/* Without figures it is answered at once. */
int worker_start(const struct worker_parent *parent, const struct worker_spec *spec,
		 const struct channel_ops *ops, void *ops_arg, struct worker **ret_worker)
{
	return -ENOMEM;
}
