/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MPI ranks of a job in three forms: a user's request, the job's record, a shim's
 * specification. Nothing here starts or looks at processes.
 *
 *	request	"ranks": {"n": 4, "nodes": ["n1", "n2"], "map": ["0-1", "2-3"], "mpi": "mpich",
 *		"library": "/usr/lib/.../libmpich.so.12", "label": false, "keep_going": false,
 *		"direct": false, "interruptible": false, "programs", "bind": as shim/ranks.h}
 *	record	"ranks": {"map": ["0-3"], "nodes": [...], "mpi": ..., and the same,
 *		"library": ["/usr/lib/.../libmpich.so.12", "libmpich.so.12.2.2"],
 *		"apart": true if each of its nodes has an image directory of its own}
 *	shim	"ranks": as shim/ranks.h
 *
 * Nodes have the names of the hosts file. The first node is the one that got the request, and
 * has rank 0; without nodes it has all ranks, and the record has no nodes. Without a map the
 * ranks are in even blocks.
 *
 * Request and record have no paths of Stillpoint's own: a job may be restarted on a node where
 * they differ. "library" has the path of the real MPI library, which Stillpoint's library loads,
 * and the name of the file that the path leads to. The name has the version, which must be the
 * same on every node. Without a path (a script, of which it is not known) Stillpoint's library
 * looks for the one that the program would load; without a name nothing is compared.
 */
#ifndef STILLPOINT_RANK_RECORD_H
#define STILLPOINT_RANK_RECORD_H

#include <jansson.h>

#include "supervisor/storage/config.h"

/* Make "ranks" of a record from a request. A new reference; NULL with an outcome. */
json_t *rank_record_make(const json_t *request, const struct config *config,
			 json_t **ret_outcome);
/*
 * Add "library" to @record: the MPI library that a job with the environment @env gets, the user's
 * CKPT_MPI_LIBRARY or else @found, of the request; NULL: not known. NULL, or an outcome: @found
 * cannot be the path of a library. @record needs "mpi" and "direct" only.
 */
json_t *rank_record_library(json_t *record, const char *found, const json_t *env);
/*
 * Check that this node has all that @record needs installed. NULL, or an outcome. Follows the
 * path of the library, which may hang: for a worker only, as rank_record_library().
 */
json_t *rank_record_check(const json_t *record, const struct config *config);
/* All of @record that rank_record_check() depends on; a new reference. */
json_t *rank_record_needs(const json_t *record);
/*
 * Place the ranks of a generation (catalog_generation_parts()) on @nodes; NULL: on the nodes where
 * they were. On as many nodes as before, each takes the ranks of one of those; on more or fewer,
 * each takes an even block. @map overrides both. Return: NULL, or an outcome.
 */
json_t *rank_record_place(json_t *record, json_t *nodes, json_t *map, const struct config *config);
/*
 * Copy @record with all ranks on one node, as if the job had never been on several; a new
 * reference.
 */
json_t *rank_record_gathered(const json_t *record);
/* Make "ranks" of the specification for the shim of the @node-th node; a new reference. */
json_t *rank_record_spec(const json_t *record, unsigned int node,
			 const struct config *config);
/* True if each node of the job has an image directory of its own. */
bool rank_record_is_apart(const json_t *record);
/*
 * Check that automatic checkpoints can succeed. NULL, or an outcome: they cannot. @record may be
 * NULL: a job without ranks.
 */
json_t *rank_record_check_auto(const json_t *record);
/*
 * Check that a restart can give @env (shim/ranks.h; NULL: none) to the MPI library. NULL, or an
 * outcome: it cannot. @record may be NULL, too.
 */
json_t *rank_record_check_env(const json_t *record, const json_t *env);
/*
 * Index of the node @name among the record's nodes; -1: it is none of them, or the record has no
 * nodes.
 */
int rank_record_node_index(const json_t *record, const char *name);
/*
 * The fields of @record, which may be NULL: the names of the job's nodes (NULL: it has one node),
 * the ranks of each node, whether a failed rank ends the others, and whether the ranks have an MPI
 * library. The JSON is the record's.
 */
json_t *rank_record_nodes(const json_t *record);
json_t *rank_record_map(const json_t *record);
bool rank_record_keeps_going(const json_t *record);
bool rank_record_has_mpi(const json_t *record);
/* Number of ranks of the whole job; 0: a job without ranks. */
unsigned int rank_record_size(const json_t *record);

#endif /* STILLPOINT_RANK_RECORD_H */
