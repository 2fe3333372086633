/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The failure topology of a job: which nodes hold what each level has of each group's image, and
 * which nodes are lost. It tells which levels still work for which group, without asking anybody.
 *
 * A copy is what one level has of one group. It works if the level has it, and if at least @need of
 * its nodes are left:
 *
 *	level			nodes				need
 *	L1, not shared		the group's node		1
 *	L1 shared, posix	none				0
 *	partner			the partner			1
 *	erasure:K+M		the nodes of the images that	the number of these images
 *				were coded, and the holders
 *				of the parity
 *
 * Pure but for memory: no I/O, no clock. survey.h fills a topology from the catalog and the levels.
 */
#ifndef STILLPOINT_TOPOLOGY_H
#define STILLPOINT_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_LEVELS_MAX	8	/* L1 and LEVEL_CONFIGS_MAX others */
#define TOPOLOGY_WHY_MAX	160

/**
 * struct topology_copy - what one level has of one group
 * @held: the level has it
 * @need: number of @nodes that must be left
 * @nodes: indices of @nr_nodes different nodes, owned
 * @why: if not @held: why not, for people; "": the level does not have it
 */
struct topology_copy {
	bool held;
	unsigned int need;
	unsigned int *nodes;
	unsigned int nr_nodes;
	char why[TOPOLOGY_WHY_MAX];
};

/* The image of one node: @part is its number, -1: the generation is one image. */
struct topology_group {
	unsigned int node;
	int part;
	struct topology_copy copy[TOPOLOGY_LEVELS_MAX];
};

/* @why: why the generation cannot be used, whatever is lost; "": it can. Groups are owned. */
struct topology_generation {
	int64_t number;
	struct topology_group *groups;
	unsigned int nr_groups;
	char why[TOPOLOGY_WHY_MAX];
};

struct topology_node {
	char *name;		/* owned */
	bool lost;
};

/* Zeroed but for @nr_levels: empty. The other members belong to the functions below. */
struct topology {
	unsigned int nr_levels;
	struct topology_node *nodes;
	unsigned int nr_nodes;
	struct topology_generation *generations;
	unsigned int nr_generations;
};

/* The index of the node of that name, which is added if it is missing; -ENOMEM. */
int topology_node(struct topology *t, const char *name);
/* Count the node as lost. Return: 0; -ENOENT: no group or copy is on a node of that name. */
int topology_lose(struct topology *t, const char *name);
/*
 * Add a generation with @nr_groups groups, for the caller to fill in. NULL: out of memory. The
 * result lives until the next generation is added.
 */
struct topology_generation *topology_add(struct topology *t, int64_t number,
					 unsigned int nr_groups);
/* Add @node to @copy, unless it is there already; -ENOMEM. */
int topology_hold(struct topology_copy *copy, unsigned int node);

/* Bitmask of the levels that work for @group: bit n is level n. */
unsigned int topology_working(const struct topology *t, const struct topology_group *group);
/*
 * topology_why() - format why a level does not work for @group: "node n3 is lost", "2 of 5 pieces
 *	are left, 3 are needed: n3, n4 are lost", "it is not there"
 *
 * Return: @buf; "" if it works
 */
const char *topology_why(const struct topology *t, const struct topology_group *group,
			 unsigned int level, char *buf, size_t size);

void topology_done(struct topology *t);

#endif /* STILLPOINT_TOPOLOGY_H */
