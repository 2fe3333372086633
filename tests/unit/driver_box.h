/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The coordinators of a job on two nodes with their drivers, as ckptd runs them, and
 * everything around them played: network, shims, dumps, catalog, timers. Ranks do at once what
 * they are ordered; a dump does what the test says.
 */
#ifndef STILLPOINT_TEST_DRIVER_BOX_H
#define STILLPOINT_TEST_DRIVER_BOX_H

#include "supervisor/checkpoint/coord_driver_priv.h"
#include "supervisor/parts/parts_priv.h"

#define BOX_NODES	2
#define BOX_GENERATIONS	16
#define BOX_LINKS	4

struct rank_link {
	struct box_node *node;
	const struct rank_link_ops *ops;
	void *arg;
	uint32_t intent;
	bool ordered, asked;	/* to be answered */
	unsigned int room;	/* messages until the socket is full */
	size_t targets;		/* that it was sent */
};

struct job_dump {
	struct box_node *node;
	const struct job_dump_ops *ops;
	void *arg;
	int64_t generation;
	bool went, aborted;
	bool linked;		/* its links are answered */
	struct job_dump_link links[BOX_LINKS];
};

struct box_node {
	struct common common;
	struct job job;
	struct parts parts;
	struct job_dump *dump;
	struct rank_link *link;
	char state_dir[64];
	bool held;		/* by an order that is not RUN */
	bool off;		/* its ckptd is away: neither sends nor takes */
	bool mute;		/* its shim says nothing */
	unsigned int link_room;	/* of links to come */
	unsigned int comms;	/* that its ranks have begun something on */
	bool image[BOX_GENERATIONS];
	unsigned int sent_commits;	/* orders that it has sent */
	unsigned int flushes;	/* that were called for */
	unsigned int orders;	/* to its ranks */
};

struct box {
	struct box_node node[BOX_NODES];
	bool parts_json[BOX_GENERATIONS];
	bool full;		/* where parts.json would be */
	unsigned int early;	/* orders to commit, told before there was one */
	json_t *outcome;	/* of the checkpoint */
};

struct box *box_make(void);
void box_free(struct box *box);
void box_checkpoint(struct box *box, bool kill);
/* Until nothing happens any more for some time. */
void box_run(struct box *box);
/* A ckptd ends, and its dump's worker goes on; another one begins. */
void box_kill(struct box *box, unsigned int node);
void box_start(struct box *box, unsigned int node);
/* The ranks there end, as do their ckptd's dealings with them. */
void box_exit(struct box *box, unsigned int node);
/* The worker of the node has come to a stop; box_flushed() may be left out. */
void box_flushed(struct box *box, unsigned int node);
/* The worker tells connections to the outside. */
void box_links(struct box *box, unsigned int node, const struct sock_link *links, unsigned int nr);
void box_captured(struct box *box, unsigned int node);
void box_stored(struct box *box, unsigned int node);
/* @text: why it failed; NULL */
void box_ended(struct box *box, unsigned int node, const char *text);
/* What the driver takes for a daemon, its jobs, its network or its reactor. */
struct box_node *box_node_of(const void *pointer);
/* Taken to where all images are there, on all nodes but @slow. */
void box_dump(struct box *box, unsigned int slow);

#endif /* STILLPOINT_TEST_DRIVER_BOX_H */
