/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages between the coordinators of one job on its nodes (parts.h), and the options of the
 * next checkpoint, which the home tells the other nodes before it begins.
 *
 * Questions (peer_ask.h):
 *
 *	checkpoint	{"job": J, "run": R, "args": {...}}: the next checkpoint uses these args
 *			of op_dump(); pids, generation and directory are each node's own
 *	failure		{"job": J, "run": R}: why did the last checkpoint fail there?
 *			{"outcome": {...}}, or {} if it did not
 */
#ifndef STILLPOINT_COORD_PEER_H
#define STILLPOINT_COORD_PEER_H

#include <jansson.h>
#include <stdint.h>

#include "coord/coord_msg.h"

struct coord_driver;
struct jobs;

/* Call once, after jobs_open(). */
int coord_peer_register(struct jobs *jobs);

/* Send @msg to @node. A message may be lost; the machine repeats it. */
void coord_peer_send(struct coord_driver *d, uint32_t node, const struct coord_msg *msg);

/*
 * coord_peer_prepare() - tell all other nodes the options of the next checkpoint
 * @fn: called once, later or at once: with NULL when all nodes know them, or with the failure
 *	(a new reference)
 */
typedef void (*coord_prepared_fn)(struct coord_driver *d, json_t *failure);
void coord_peer_prepare(struct coord_driver *d, coord_prepared_fn fn);

/*
 * coord_peer_why() - ask @node why the last checkpoint failed there
 * @fn: called once, later or at once, with the node's outcome and its name (a new reference);
 *	NULL: the node does not say
 */
void coord_peer_why(struct coord_driver *d, uint32_t node, coord_prepared_fn fn);

#endif /* STILLPOINT_COORD_PEER_H */
