/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A round of votes on nodes that did not answer: this node and some others, which did, try to reach
 * them at the same time (reach.h). It begins when nodes are known to be silent, and lasts some
 * seconds at most.
 *
 *	reach	{"nodes": ["n2", ...]}	peer_ask.h; {"reach": {"n2": reach_name(), ...}}
 *
 * So that thousands of silent nodes make no storm, a round is about REACH_NODES of them and asks
 * REACH_VOTERS nodes; and a node answers REACH_ANSWERS questions at a time, others with -EBUSY.
 */
#ifndef STILLPOINT_DIAGNOSE_REACH_ROUND_H
#define STILLPOINT_DIAGNOSE_REACH_ROUND_H

#include <jansson.h>

#include "supervisor/storage/common.h"

#define REACH_NODES	32
#define REACH_VOTERS	6	/* beside this node */
#define REACH_ANSWERS	4

/*
 * reach_round_start() - vote on @silent, with the help of @voters; arrays of names
 * @fn: called once, later, with [reach_tally(), ...] of all that were voted on (taken over)
 *
 * Negative errno: there is no vote, and @fn is not called.
 */
typedef void (*reach_round_fn)(json_t *found, void *arg);
int reach_round_start(struct common *common, const json_t *silent, const json_t *voters,
		      reach_round_fn fn, void *arg);

/* Answers other nodes' questions. */
struct reach_desk;

/* *ret_desk is NULL on a node that is alone. */
int reach_desk_open(struct common *common, struct reach_desk **ret_desk);
/* When the event loop has ended: until then the desk may be asked. NULL is fine. */
void reach_desk_close(struct reach_desk *desk);

#endif /* STILLPOINT_DIAGNOSE_REACH_ROUND_H */
