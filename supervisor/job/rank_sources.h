/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which images the ranks of a node are restored from, when a job's nodes change.
 *
 * A generation has one image for each node of the map it was taken with, or one of all; the
 * job's record says how its ranks are to be now. Each node takes of each image the ranks
 * that are to be its own.
 */
#ifndef STILLPOINT_RANK_SOURCES_H
#define STILLPOINT_RANK_SOURCES_H

#include <jansson.h>

/*
 * rank_sources() - the images of one node, ascending, those with nothing for it left out
 * @was: map of the generation; NULL: it is of one image, that of all ranks
 * @is: map of the record
 * @node: which of @is
 *
 * [{"part": K, "take": [[index there, index here], ...], "leave": [index there, ...]}, ...], an
 * index being the number of a rank among its node's, ascending. NULL: these are not maps of one
 * job.
 */
json_t *rank_sources(const json_t *was, const json_t *is, unsigned int node);

/*
 * rank_sources_pids() - of one of them, whose image has the processes @pids (by index there)
 * @here: by index here; what is taken is written into it
 * @ret_roots, @ret_others: as in op_restore(), new references; both NULL if the whole image is
 * 	taken
 *
 * How many processes there are to restore; -EBADMSG: @pids are not those of that node.
 */
int rank_sources_pids(const json_t *source, const json_t *pids, json_t *here, json_t **ret_roots,
		      json_t **ret_others);

/* Do two of @pids, from several nodes, have one number? That of the first such; 0: no. */
int rank_sources_clash(const json_t *pids);

#endif /* STILLPOINT_RANK_SOURCES_H */
