/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coordinators of one job on its nodes (parts.h), to each other: their messages, and how the
 * next checkpoint is to be, which its home tells the others before it begins.
 *
 *	checkpoint	{"job": J, "run": R, "args": {...}}	peer_ask.h; args of op_dump()
 *			but for pids, generation and directory, which are each node's own
 *	failure         {"job": J, "run": R}    why the last one failed there; {"outcome":
 *	{...}}, or
 *			{} if it did not
 */
#ifndef STILLPOINT_COORD_PEER_H
#define STILLPOINT_COORD_PEER_H

#include "coord/coord_msg.h"
#include "supervisor/daemon.h"

struct coord_driver;

/* Once, when daemon->jobs and daemon->nodes are there. */
int coord_peer_register(struct daemon *daemon);

/* May be lost; the machine repeats. */
void coord_peer_send(struct coord_driver *d, uint32_t node, const struct coord_msg *msg);

/*
 * coord_peer_prepare() - tell all other nodes how the next checkpoint is to be
 * @fn: once, later or at once: NULL when all know it; else why not (a new reference)
 */
typedef void (*coord_prepared_fn)(struct coord_driver *d, json_t *failure);
void coord_peer_prepare(struct coord_driver *d, coord_prepared_fn fn);

/*
 * coord_peer_why() - ask @node why the last checkpoint failed there
 * @fn: once, later or at once: its outcome with the node's name (a new reference); NULL: it
 *	does not say
 */
void coord_peer_why(struct coord_driver *d, uint32_t node, coord_prepared_fn fn);

#endif /* STILLPOINT_COORD_PEER_H */
