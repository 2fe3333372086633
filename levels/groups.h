/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which nodes form an erasure group: k members whose images are coded, and m holders
 * of the parity, k + m different nodes.  Pure function of its arguments.
 */
#ifndef STILLPOINT_LEVELS_GROUPS_H
#define STILLPOINT_LEVELS_GROUPS_H

#include "base/cleanup.h"
#include "base/error.h"

/* A node and what fails as a whole with it: a rack, a power supply, a switch. */
struct levels_node {
	const char *name;
	const char *domain;	/* NULL: the node itself */
};

struct levels_group {
	unsigned int *members;	/* indices of nodes; nr_members, at most k */
	unsigned int nr_members;
	unsigned int *holders;	/* indices of nodes; m, parity 0 to m-1 */
	unsigned int worst;	/* most pieces that one domain has: the group survives */
				/* the loss of any domain if that is at most m */
};

struct levels_grouping {
	struct levels_group *groups;
	unsigned int nr_groups;
	unsigned int m;
};

/**
 * levels_groups() - form groups
 *
 * Every node is a member of exactly one group; groups are as large as each other but
 * for one member.  A node holds parity of groups that it is no member of, and all hold
 * about as much.  So with any m nodes lost every group has lost at most m pieces.  No
 * two pieces of a group are in one domain where the domains allow that; where they do
 * not, each domain's nodes are spread evenly.
 *
 * The result depends on names and domains only, not on the order of the nodes.
 *
 *   -EINVAL	k or m out of range, a node without a name, or named twice
 *   -ERANGE	fewer than k + m nodes
 */
int levels_groups(const struct levels_node *nodes, unsigned int nr_nodes,
		  unsigned int k, unsigned int m, struct levels_grouping *ret_grouping,
		  struct ckpt_error *error);
void levels_groups_done(struct levels_grouping *g);

#endif /* STILLPOINT_LEVELS_GROUPS_H */
