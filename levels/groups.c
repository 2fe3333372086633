// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of nodes across failure domains.
 *
 * Nodes are put in order of domain (largest first) and name, and dealt out to the
 * groups like cards: a domain's nodes lie next to each other, so they go to different
 * groups as long as there are as many groups, and otherwise evenly.  Then each group
 * gets its holders one by one: of the nodes that are not in it yet the one whose domain
 * has the fewest pieces of the group, and among those the one that holds the least.
 *
 * Any number of nodes from k + m on will do; none is left over.  (FTI wants multiples
 * of the group's size.)
 *
 * Owns nothing but what it returns; the order of the caller's nodes never matters.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "levels/groups.h"
#include "base/error.h"
#include "levels/rs.h"

struct card {
	const char *name;
	const char *domain;
	unsigned int node;	/* the caller's index */
	unsigned int dom;	/* number of the domain */
	unsigned int dom_size;
	unsigned int load;	/* pieces of parity */
};

struct deal {
	struct card *cards;
	unsigned int nr;
	unsigned int *pieces;	/* of the group in hand, by domain */
	bool *in_group;		/* by card */
};

static int by_domain(const void *a, const void *b)
{
	const struct card *x = a, *y = b;
	int order = strcmp(x->domain, y->domain);

	return order ? order : strcmp(x->name, y->name);
}

static int groups_by_name(const void *a, const void *b)
{
	return strcmp(((const struct card *)a)->name, ((const struct card *)b)->name);
}

static int by_size(const void *a, const void *b)
{
	const struct card *x = a, *y = b;

	if (x->dom_size != y->dom_size)
		return x->dom_size > y->dom_size ? -1 : 1;
	return by_domain(a, b);
}

static int check_nodes(const struct levels_node *nodes, struct deal *d, unsigned int k,
		       unsigned int m, struct ckpt_error *error)
{
	unsigned int i;

	if (!k || k > RS_DATA_MAX || !m || m > RS_PARITY_MAX)
		return error_set(error, -EINVAL,
				       "groups of %u+%u: 1+1 to %u+%u is possible", k, m,
				       RS_DATA_MAX, RS_PARITY_MAX);
	if (d->nr < k + m)
		return error_set(error, -ERANGE,
				       "groups of %u+%u need %u nodes, there are %u", k, m,
				       k + m, d->nr);
	for (i = 0; i < d->nr; i++) {
		if (!nodes[i].name || !*nodes[i].name)
			return error_set(error, -EINVAL, "a node without a name");
		d->cards[i].node = i;
		d->cards[i].name = nodes[i].name;
		d->cards[i].domain = nodes[i].domain ? nodes[i].domain : nodes[i].name;
	}
	qsort(d->cards, d->nr, sizeof(*d->cards), groups_by_name);
	for (i = 1; i < d->nr; i++)
		if (!strcmp(d->cards[i].name, d->cards[i - 1].name))
			return error_set(error, -EINVAL, "node '%.100s' is there twice",
					       d->cards[i].name);
	return 0;
}

/* Number the domains and put the cards in the order in which they are dealt. */
static void sort_cards(struct deal *d)
{
	unsigned int start, end, i, dom = 0;

	qsort(d->cards, d->nr, sizeof(*d->cards), by_domain);
	for (start = 0; start < d->nr; start = end, dom++) {
		const char *domain = d->cards[start].domain;

		for (end = start; end < d->nr && !strcmp(domain, d->cards[end].domain); end++)
			;
		for (i = start; i < end; i++) {
			d->cards[i].dom = dom;
			d->cards[i].dom_size = end - start;
		}
	}
	qsort(d->cards, d->nr, sizeof(*d->cards), by_size);
}

/* Choose the best holder for the group in hand, and count its load. */
static unsigned int pick_holder(struct deal *d)
{
	unsigned int i, best = d->nr;

	for (i = 0; i < d->nr; i++) {
		const struct card *c = &d->cards[i], *b = &d->cards[best < d->nr ? best : i];

		if (d->in_group[i])
			continue;
		if (best == d->nr || d->pieces[c->dom] < d->pieces[b->dom] ||
		    (d->pieces[c->dom] == d->pieces[b->dom] && c->load < b->load))
			best = i;
	}
	d->in_group[best] = true;
	d->pieces[d->cards[best].dom]++;
	d->cards[best].load++;
	return d->cards[best].node;
}

static int deal_group(struct deal *d, unsigned int first, unsigned int step,
		      unsigned int m, struct levels_group *g)
{
	unsigned int i;

	g->members = calloc((d->nr - first + step - 1) / step, sizeof(*g->members));
	g->holders = calloc(m, sizeof(*g->holders));
	if (!g->members || !g->holders)
		return -ENOMEM;
	memset(d->pieces, 0, d->nr * sizeof(*d->pieces));
	memset(d->in_group, 0, d->nr * sizeof(*d->in_group));
	for (i = first; i < d->nr; i += step) {
		g->members[g->nr_members++] = d->cards[i].node;
		d->in_group[i] = true;
		d->pieces[d->cards[i].dom]++;
	}
	for (i = 0; i < m; i++)
		g->holders[i] = pick_holder(d);
	for (i = 0; i < d->nr; i++)
		if (d->pieces[i] > g->worst)
			g->worst = d->pieces[i];
	return 0;
}

static int deal_all(struct deal *d, unsigned int k, unsigned int m,
		    struct levels_grouping *g)
{
	unsigned int i;
	int err = 0;

	g->m = m;
	g->nr_groups = (d->nr + k - 1) / k;
	g->groups = calloc(g->nr_groups, sizeof(*g->groups));
	if (!g->groups)
		return -ENOMEM;
	for (i = 0; !err && i < g->nr_groups; i++)
		err = deal_group(d, i, g->nr_groups, m, &g->groups[i]);
	return err;
}

int levels_groups(const struct levels_node *nodes, unsigned int nr_nodes,
		  unsigned int k, unsigned int m, struct levels_grouping *ret_grouping,
		  struct ckpt_error *error)
{
	_cleanup_free_ struct card *cards = calloc(nr_nodes + 1, sizeof(*cards));
	_cleanup_free_ unsigned int *pieces = calloc(nr_nodes + 1, sizeof(*pieces));
	_cleanup_free_ bool *in_group = calloc(nr_nodes + 1, sizeof(*in_group));
	struct deal d = { cards, nr_nodes, pieces, in_group };
	struct levels_grouping g = {};
	int err;

	if (!cards || !pieces || !in_group)
		return error_set(error, -ENOMEM, "out of memory");
	err = check_nodes(nodes, &d, k, m, error);
	if (err)
		return err;
	sort_cards(&d);
	err = deal_all(&d, k, m, &g);
	if (err) {
		levels_groups_done(&g);
		return error_set(error, err, "out of memory");
	}
	*ret_grouping = g;
	return 0;
}

void levels_groups_done(struct levels_grouping *g)
{
	unsigned int i;

	for (i = 0; g->groups && i < g->nr_groups; i++) {
		free(g->groups[i].members);
		free(g->groups[i].holders);
	}
	free(g->groups);
	*g = (struct levels_grouping){};
}
