// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merges stacks; see stack_tree.h. Owns the nodes: each holds its name, its ranks and the functions
 * that it called. Prints only in stack_tree_print(), and must not depend on the order in which
 * ranks come: equal sets of stacks print alike.
 */
#include "ckptctl/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_RANKS_SHOWN	8	/* ranges */

struct stack_node {
	char *name;
	struct stack_node *parent;
	struct stack_node **below;
	size_t nr_below;
	long long *ranks;
	size_t nr_ranks, room;
	size_t ends;		/* stacks whose innermost function this is */
};

struct stack_tree {
	struct stack_node root;
};

struct stack_tree *stack_tree_new(void)
{
	return calloc(1, sizeof(struct stack_tree));
}

static void stack_node_done(struct stack_node *node)
{
	for (size_t i = 0; i < node->nr_below; i++) {
		stack_node_done(node->below[i]);
		free(node->below[i]);
	}
	free(node->below);
	free(node->ranks);
	free(node->name);
}

void stack_tree_free(struct stack_tree *tree)
{
	if (tree)
		stack_node_done(&tree->root);
	free(tree);
}

static int stack_node_rank(struct stack_node *node, long long rank)
{
	if (node->nr_ranks == node->room) {
		size_t room = node->room ? 2 * node->room : 16;
		void *more = realloc(node->ranks, room * sizeof(*node->ranks));

		if (!more)
			return -ENOMEM;
		node->ranks = more;
		node->room = room;
	}
	node->ranks[node->nr_ranks++] = rank;
	return 0;
}

/* The function @name called from @node, new or not; NULL: no memory. */
static struct stack_node *stack_node_below(struct stack_node *node, const char *name)
{
	struct stack_node *new, **more;

	for (size_t i = 0; i < node->nr_below; i++) {
		if (!strcmp(node->below[i]->name, name))
			return node->below[i];
	}
	more = realloc(node->below, (node->nr_below + 1) * sizeof(*more));
	if (more)
		node->below = more;
	new = more ? calloc(1, sizeof(*new)) : NULL;
	if (!new)
		return NULL;
	new->parent = node;
	new->name = strdup(name);
	if (!new->name) {
		free(new);
		return NULL;
	}
	node->below[node->nr_below++] = new;
	return new;
}

int stack_tree_add(struct stack_tree *tree, long long rank, const char *const frames[], size_t nr)
{
	struct stack_node *node = &tree->root;
	int err = stack_node_rank(node, rank);

	for (size_t i = 0; i < nr && !err; i++) {
		node = stack_node_below(node, frames[i]);
		err = node ? stack_node_rank(node, rank) : -ENOMEM;
	}
	if (!err)
		node->ends++;
	return err;
}

/* ------------------------------------------------------------------ print */

static int stack_by_rank(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

static int stack_by_number(const void *a, const void *b)
{
	const struct stack_node *x = *(struct stack_node *const *)a;
	const struct stack_node *y = *(struct stack_node *const *)b;

	if (x->nr_ranks != y->nr_ranks)
		return x->nr_ranks > y->nr_ranks ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void stack_sort(struct stack_node *node)
{
	if (node->nr_ranks)
		qsort(node->ranks, node->nr_ranks, sizeof(*node->ranks), stack_by_rank);
	if (node->nr_below)
		qsort(node->below, node->nr_below, sizeof(struct stack_node *), stack_by_number);
	for (size_t i = 0; i < node->nr_below; i++)
		stack_sort(node->below[i]);
}

/* "0-2,7" */
static void stack_print_ranks(const struct stack_node *node, FILE *out)
{
	size_t i = 0, shown = 0;

	while (i < node->nr_ranks && shown++ < STACK_RANKS_SHOWN) {
		size_t first = i;

		while (i + 1 < node->nr_ranks && node->ranks[i + 1] == node->ranks[i] + 1)
			i++;
		fprintf(out, "%s%lld", first ? "," : "", node->ranks[first]);
		if (i > first)
			fprintf(out, "-%lld", node->ranks[i]);
		i++;
	}
	if (i < node->nr_ranks)
		fputs(",...", out);
}

static void stack_print_tree(const struct stack_node *node, unsigned int depth, FILE *out)
{
	for (size_t i = 0; i < node->nr_below; i++) {
		const struct stack_node *below = node->below[i];

		fprintf(out, "%*s%s: %zu [", 2 * (int)depth, "", below->name, below->nr_ranks);
		stack_print_ranks(below, out);
		fputs("]\n", out);
		stack_print_tree(below, depth + 1, out);
	}
}

static void stack_print_path(const struct stack_node *node, FILE *out)
{
	if (!node->parent)
		return;
	stack_print_path(node->parent, out);
	fprintf(out, "%s%s", node->parent->parent ? ";" : "", node->name);
}

/* As flame graphs are made of: "main;solve;MPI_Barrier 3". */
static void stack_print_folded(const struct stack_node *node, FILE *out)
{
	if (node->ends && node->parent) {
		stack_print_path(node, out);
		fprintf(out, " %zu\n", node->ends);
	}
	for (size_t i = 0; i < node->nr_below; i++)
		stack_print_folded(node->below[i], out);
}

static void stack_print_dot(const struct stack_node *node, FILE *out)
{
	for (size_t i = 0; i < node->nr_below; i++) {
		const struct stack_node *below = node->below[i];

		fprintf(out, "\t\"%p\" [label=\"", (const void *)below);
		for (const char *c = below->name; *c; c++)
			fprintf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
		fputs("\"];\n", out);
		if (node->parent) {
			fprintf(out, "\t\"%p\" -> \"%p\" [label=\"%zu [", (const void *)node,
				(const void *)below, below->nr_ranks);
			stack_print_ranks(below, out);
			fputs("]\"];\n", out);
		}
		stack_print_dot(below, out);
	}
}

void stack_tree_print(struct stack_tree *tree, enum stack_format format, FILE *out)
{
	stack_sort(&tree->root);
	if (format == STACK_DOT) {
		fputs("digraph stacks {\n\tnode [shape=box];\n", out);
		stack_print_dot(&tree->root, out);
		fputs("}\n", out);
	} else if (format == STACK_FOLDED) {
		stack_print_folded(&tree->root, out);
	} else {
		stack_print_tree(&tree->root, 0, out);
	}
}
