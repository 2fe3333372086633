/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The choice of images that a node restores its ranks from, when a job's nodes change.
 *
 * A generation has one image for each node of the map it was taken with, or one image of all
 * ranks. The map in the job's record tells where the ranks go now. Each node takes from each image
 * the ranks that are its own now. Pure functions: nothing is read here.
 */
#ifndef STILLPOINT_RANK_SOURCES_H
#define STILLPOINT_RANK_SOURCES_H

#include <jansson.h>

/*
 * rank_sources() - the images that have ranks of one node, in ascending order
 * @was: map of the generation; NULL: the generation has one image, of all ranks
 * @is: map of the record
 * @node: index of the node in @is
 *
 * Return: [{"part": K, "take": [[index there, index here], ...], "leave": [index there, ...]},
 * ...]. An index is the place of a rank among the ranks of its node, in ascending order. "there"
 * is the node of part K in @was, "here" is @node in @is. NULL: the maps are not of one job.
 */
json_t *rank_sources(const json_t *was, const json_t *is, unsigned int node);

/*
 * rank_sources_pids() - the processes to restore from one image
 * @source: entry of rank_sources()
 * @pids: processes of the image, by index there; 0: the rank had ended
 * @here: gets the pids that are taken, by index here
 * @ret_roots, @ret_others: as in op_restore(), new references; both NULL if the whole image is
 * 	taken
 *
 * Return: the number of processes to restore; -EBADMSG: @pids are not those of that node.
 */
int rank_sources_pids(const json_t *source, const json_t *pids, json_t *here, json_t **ret_roots,
		      json_t **ret_others);

/* Return the first pid that occurs twice in @pids, as ranks come from several nodes; 0: none. */
int rank_sources_clash(const json_t *pids);

#endif /* STILLPOINT_RANK_SOURCES_H */
