/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decision whether a job still counts as running only because nodes are off.
 */
#ifndef STILLPOINT_LOST_NODES_H
#define STILLPOINT_LOST_NODES_H

#include <stdbool.h>

#include <jansson.h>

/* lost_nodes_is_over() - has @job, as `ckptctl ps` lists it, come to an end? */
bool lost_nodes_is_over(const json_t *job);

/*
 * lost_nodes_hold() - does @job count as running only because nobody can ask nodes of @lost?
 * @lost: names of nodes that are off; NULL: none
 *
 * True if the job's home is among @lost, or all nodes that its home does not hear are.
 */
bool lost_nodes_hold(const json_t *job, const json_t *lost);

#endif /* STILLPOINT_LOST_NODES_H */
