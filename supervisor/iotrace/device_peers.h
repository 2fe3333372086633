/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast other nodes wrote the same generations: asked only when this node's device looks
 * degraded, so that healthy nodes say nothing to each other.
 *
 *	device_rates {"job": J, "level": L, "generations": [N, ...]}
 *		{"rates": [{"generation": N, "bytes": B, "rate": R}, ...]}: those that this node's
 *		ckptd has measured since its start, of the last ones
 */
#ifndef STILLPOINT_DEVICE_PEERS_H
#define STILLPOINT_DEVICE_PEERS_H

#include <jansson.h>

#include "supervisor/storage/common.h"

#define DEVICE_PEERS_MAX	16	/* nodes that are asked, whatever the number of the job's */

struct device_peers;

/* Answers the question from now on, if there are other nodes. */
int device_peers_open(struct common *common, struct device_peers **ret_peers);
void device_peers_close(struct device_peers *peers);	/* NULL is fine */

/* Remember what this node has measured, for answers. */
void device_peers_note(struct device_peers *peers, const char *level, int64_t job,
		       int64_t generation, double bytes, double rate);

/*
 * device_peers_ask() - ask other nodes of a job
 * @nodes: the job's nodes, by the names of the hosts file
 * @ask: as device_judge() says it; this node's own rates give the size that others must be like
 * @fn: called once, later, also if nobody answers; takes over @rates, which are as device_judge()
 *	takes them
 *
 * One question at a time. 0 or negative errno, and then @fn is not called.
 */
typedef void (*device_peers_fn)(json_t *rates, void *arg);
int device_peers_ask(struct device_peers *peers, const json_t *nodes, const json_t *ask,
		     device_peers_fn fn, void *arg);

#endif /* STILLPOINT_DEVICE_PEERS_H */
