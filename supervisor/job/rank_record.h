/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranks in a job's record: what a user asks for, what is kept, what a shim is told.
 *
 *	request	"ranks": {"n": 4, "nodes": ["n1", "n2"], "map": ["0-1", "2-3"], "mpi": "mpich",
 *		"label": false, "keep_going": false, "direct": false, "interruptible": false}
 *	record	"ranks": {"map": ["0-3"], "nodes": [...], "mpi": ..., and the same,
 *		"library": ["/usr/lib/.../libmpich.so.12", "libmpich.so.12.2.2"],
 *		"apart": true if each of its nodes has an image directory of its own}
 *	shim	"ranks": as shim/ranks.h
 *
 * Nodes have the names of the hosts file.  The first is the one that is asked, and has rank
 * 0; without nodes it has all ranks, and the record has no nodes.  Without a map ranks are in
 * even blocks.
 *
 * Paths of ours are in neither of the first two: a job may be restarted on a node where
 * other things are elsewhere. That of the MPI library is where our library looks for it; the name
 * that it leads to has the version, which has to be the same on every node.
 */
#ifndef STILLPOINT_RANK_RECORD_H
#define STILLPOINT_RANK_RECORD_H

#include <jansson.h>

#include "supervisor/config.h"

/* A new reference for the record; NULL with an outcome. */
json_t *rank_record_make(const json_t *request, const struct config *config,
			 json_t **ret_outcome);
/*
 * Put into it which MPI library the job, with the environment @env, gets on this node; NULL, or
 * an outcome: there is none.
 */
json_t *rank_record_library(json_t *record, const json_t *env);
/* What the record asks for is installed on this node; NULL, or an outcome. */
json_t *rank_record_check(const json_t *record, const struct config *config);
/*
 * Put what a generation has (catalog_generation_parts()) on @nodes, or, without any, leave it
 * where it was; NULL, or an outcome. As many nodes as before have each the ranks of one; of more or
 * fewer each has an even block of them, unless @map says which.
 */
json_t *rank_record_place(json_t *record, json_t *nodes, json_t *map, const struct config *config);
/*
 * The record of a job whose ranks were on one node, of the same job on whatever nodes; a new
 * reference.
 */
json_t *rank_record_gathered(const json_t *record);
/* For the shim of the @node-th node of the map; a new reference. */
json_t *rank_record_spec(const json_t *record, unsigned int node,
			 const struct config *config);
/* Has each of its nodes an image directory of its own? */
bool rank_record_is_apart(const json_t *record);
/*
 * NULL, or why ckptd need not try to take checkpoints by itself; @record may be NULL: a job
 * without ranks.
 */
json_t *rank_record_check_auto(const json_t *record);
/*
 * NULL, or why a restart can give the MPI library no such @env (shim/ranks.h; NULL: none).
 * @record may be NULL, too.
 */
json_t *rank_record_check_env(const json_t *record, const json_t *env);
/*
 * Number of the node @name among the ranks' nodes; -1: it has none of them, or they name no
 * nodes.
 */
int rank_record_node_index(const json_t *record, const char *name);
/* How many ranks; 0 for a job without. */
unsigned int rank_record_size(const json_t *record);

#endif /* STILLPOINT_RANK_RECORD_H */
