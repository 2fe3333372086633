// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses each node's partner: a pure function of names, domains and order.
 *
 * The nodes are laid out domain by domain, both in the order of the file, and each node's
 * partner is as many places further on as the largest domain has nodes.  So no node's
 * partner is of its own domain, and each node is the partner of one other, unless the
 * largest domain has more than half of all nodes: then no shift achieves that, and its
 * nodes and the others are matched by their numbers.
 *
 * Must not depend on anything but its arguments: every node has to find the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "levels/partner.h"

struct line {
	unsigned int *at;	/* indices of nodes, domain by domain */
	unsigned int nr;
	unsigned int big;	/* where the largest domain begins, */
	unsigned int big_nr;	/* and how many it has */
};

static const char *domain_of(const struct levels_node *n)
{
	return n->domain ? n->domain : n->name;
}

/* A node without a domain is a domain of its own, whatever others' domains are called. */
static bool partner_choose_together(const struct levels_node *a, const struct levels_node *b)
{
	return !a->domain == !b->domain && !strcmp(domain_of(a), domain_of(b));
}

static int lay_out(const struct levels_node *nodes, unsigned int nr, struct line *line)
{
	_cleanup_free_ bool *done = calloc(nr, sizeof(*done));
	unsigned int i, j, begin;

	line->at = calloc(nr, sizeof(*line->at));
	if (!done || !line->at)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (done[i])
			continue;
		begin = line->nr;
		for (j = i; j < nr; j++) {
			if (done[j] || !partner_choose_together(&nodes[i], &nodes[j]))
				continue;
			done[j] = true;
			line->at[line->nr++] = j;
		}
		if (line->nr - begin > line->big_nr) {
			line->big = begin;
			line->big_nr = line->nr - begin;
		}
	}
	return 0;
}

/* Place in the line of the partner of the node at @place. */
static unsigned int partner_of(const struct line *line, unsigned int place)
{
	unsigned int others = line->nr - line->big_nr, k;

	if (line->big_nr <= others || !others)	/* one domain only: the next one */
		return (place + (others ? line->big_nr : 1)) % line->nr;
	/* A node of the largest domain gets a partner among the others. */
	if (place - line->big < line->big_nr) {
		k = (place - line->big) % others;
		return k < line->big ? k : k + line->big_nr;
	}
	k = place < line->big ? place : place - line->big_nr;
	return line->big + k;
}

int partner_choose(const struct levels_node *nodes, unsigned int nr, const char *node,
		   bool *ret_shared)
{
	struct line line = {};
	unsigned int place;
	int ret = -ENOENT;

	if (nr && lay_out(nodes, nr, &line))
		ret = -ENOMEM;
	for (place = 0; ret == -ENOENT && place < line.nr; place++) {
		if (!strcmp(nodes[line.at[place]].name, node))
			ret = nr < 2 ? -ERANGE : (int)line.at[partner_of(&line, place)];
	}
	if (ret >= 0 && ret_shared)
		*ret_shared = partner_choose_together(&nodes[ret], &nodes[line.at[place - 1]]);
	free(line.at);
	return ret;
}
