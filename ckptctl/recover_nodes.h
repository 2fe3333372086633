/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which nodes a job goes on that has lost some.
 *
 * Pure: no I/O. Nodes that are left keep their place in the list, so each gets the image that it
 * had; a spare takes the place of a lost node. The first node of the list is the job's home, which
 * asks: it is never lost here.
 */
#ifndef STILLPOINT_RECOVER_NODES_H
#define STILLPOINT_RECOVER_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * struct recover_nodes - the nodes that a job may use
 * @first: names of the nodes that it began on, [name, ...]
 * @spares: names of the nodes that wait, in the order in which they are taken
 * @fewer: it may go on with more ranks on fewer nodes
 */
struct recover_nodes {
	const json_t *first;
	const json_t *spares;
	bool fewer;
};

/**
 * recover_nodes_choose() - the nodes of the next run
 * @last: nodes of the last run, [name, ...]
 * @usable: nodes that answer and may be used, {name: ...}
 * @ret_missing: a node that nothing replaces, of @last; its name lives as long as @last
 *
 * A node of @rules->first that was lost and is usable again is taken like a spare, after these.
 *
 * Return: a new reference to [name, ...]; NULL: the job has to wait for a node
 */
json_t *recover_nodes_choose(const struct recover_nodes *rules, const json_t *last,
			     const json_t *usable, const char **ret_missing);

#endif /* STILLPOINT_RECOVER_NODES_H */
