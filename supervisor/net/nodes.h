/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other nodes, as ckptd sees them: connected according to the configuration, probed,
 * and described to people.
 *
 * Without a hosts file a node is alone: nothing listens, and nodes_peer() is NULL.
 */
#ifndef STILLPOINT_NODES_H
#define STILLPOINT_NODES_H

#include <jansson.h>

#include "base/log.h"
#include "base/reactor.h"
#include "levels/groups.h"
#include "supervisor/net/peer.h"
#include "supervisor/net/peer_ask.h"

struct hosts;
struct nodes;

#define NODES_KEY_NAME	33	/* hexadecimal, terminated */

struct nodes_options {
	struct reactor *reactor;
	const struct log *log;
	const char *node;	/* name of this one */
	const char *hosts;	/* files */
	const char *node_key;
	const char *image_key;	/* named in advice */
	const char *listen;	/* address */
	void *arg;		/* of the functions below */
	/* Get the name that identifies the key of images; "": there is no usable key. */
	void (*key_name)(void *arg, char ret_name[NODES_KEY_NAME]);
	/* The node on which this one's images are to be kept; NULL: there is none. */
	const char *(*partner)(void *arg);
};

/*
 * Load hosts file and key, and listen. A problem with hosts file, key or port is logged and
 * shown to users (nodes_problem()); jobs on this node alone need none of them. -ENOMEM.
 */
int nodes_open(const struct nodes_options *options, struct nodes **ret_nodes);
/*
 * Check hosts file and key as nodes_open() loads them, of @options "node", "hosts" and
 * "node_key". 0, also without a hosts file; negative errno otherwise.
 */
int nodes_check_files(const struct nodes_options *options, struct ckpt_error *error);
void nodes_close(struct nodes *nodes);		/* NULL is fine */

/* The nodes of the hosts file, by peers' numbers; NULL: this node is alone. */
const struct hosts *nodes_hosts(const struct nodes *nodes);
struct peer *nodes_peer(struct nodes *nodes);	/* NULL: this node is alone */
struct peer_asks *nodes_asks(struct nodes *nodes);
/* {NAME: true} of all nodes in the hosts file, a new reference; NULL: alone. Also in a worker. */
json_t *nodes_names(struct nodes *nodes);
/*
 * The nodes in the order of the file, with their domains; none if alone. Lives as long as
 * @nodes.
 */
const struct levels_node *nodes_list(const struct nodes *nodes, unsigned int *ret_nr);
const char *nodes_problem(const struct nodes *nodes);	/* NULL: none */

#define NODES_DEGRADED	256
/* Levels of this node whose devices are degraded, as "L1, pfs", for all nodes to see; "": none. */
void nodes_set_degraded(struct nodes *nodes, const char *levels);

/* Ask all nodes for their health; @fn is called once, after all answers or the timeout. */
typedef void (*nodes_fn)(void *arg);
int nodes_probe(struct nodes *nodes, nodes_fn fn, void *arg);

/*
 * The result of the last probe: {"node": name, "nodes": [{"name", "address", "state",
 * "since", "heard", "rtt_ns", "clock_ns", "ckptd", "api", "module", "remark",
 * "domain", "degraded": [LEVEL, ...]}...], "partner": the node that keeps copies of this node's
 * images}
 */
json_t *nodes_describe(const struct nodes *nodes);
/*
 * {NAME: true} of the nodes that have not answered a probe in the last seconds, or are not
 * connected; a new reference.
 */
json_t *nodes_silent(const struct nodes *nodes);
/* Append the same as checks for ckptctl doctor to @checks; false: some nodes have a problem. */
bool nodes_check(const struct nodes *nodes, json_t *checks);

#endif /* STILLPOINT_NODES_H */
