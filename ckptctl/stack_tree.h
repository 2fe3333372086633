/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stacks of many ranks as one tree: a node is a function in the place where it was called, with
 * the ranks that are in it.
 */
#ifndef STILLPOINT_STACK_TREE_H
#define STILLPOINT_STACK_TREE_H

#include <stddef.h>
#include <stdio.h>

struct stack_tree;

struct stack_tree *stack_tree_new(void);	/* NULL: no memory */
void stack_tree_free(struct stack_tree *tree);	/* NULL is fine */

/* Add the stack of @rank; @frames: @nr names, the outermost first. -ENOMEM. */
int stack_tree_add(struct stack_tree *tree, long long rank, const char *const frames[], size_t nr);

enum stack_format { STACK_TREE, STACK_FOLDED, STACK_DOT };
/* Print depth first; below each function the one with the most ranks first. */
void stack_tree_print(struct stack_tree *tree, enum stack_format format, FILE *out);

#endif /* STILLPOINT_STACK_TREE_H */
