/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fences of a job over its nodes: every node's block to every node, in a k-ary tree
 * of node numbers with node 0 at its root.  Blocks go up until the root has all, and
 * all go down.
 *
 * Sans-IO: no clock, no socket.  Messages may be lost, doubled and late; who waits for
 * an answer repeats when fence_tree_tick() says that time has passed, less and less often.
 */
#ifndef STILLPOINT_FENCE_TREE_H
#define STILLPOINT_FENCE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FENCE_TREE_ARITY 8

struct fence_tree;

struct fence_tree_ops {
	void (*up)(unsigned int node, uint64_t number, const void *data, size_t len,
		   void *arg);
	void (*down)(unsigned int node, uint64_t number, const void *data, size_t len,
		     void *arg);
	/* For our shim: all blocks. */
	void (*done)(uint64_t number, const void *data, size_t len, void *arg);
};

int fence_tree_create(unsigned int node, unsigned int nr_nodes, size_t max,
		      const struct fence_tree_ops *ops, void *arg,
		      struct fence_tree **ret_tree);
/* It went on before we were here: the open fence is the one that our shim says. */
void fence_tree_resume(struct fence_tree *tree);
/*
 * The answer of fence @number, as our shim has kept it: the last that is done here. For who starts
 * anew, as a child may not have got it; else it is known. 0, -EMSGSIZE, -ENOMEM.
 */
int fence_tree_known(struct fence_tree *tree, uint64_t number, const void *data, size_t len);
/* Does anybody wait in the open fence, as far as is known here? */
bool fence_tree_waits(const struct fence_tree *tree);
void fence_tree_destroy(struct fence_tree *tree);	/* NULL is fine */

/*
 * Our node's block; the first fence is 1. Again (a shim that saw us start anew): answered
 * again. What is not the next fence is dropped.
 * All three: 0; -EMSGSIZE: more than max in all; -ENOMEM; -EPROTO: not a child.
 */
int fence_tree_local(struct fence_tree *tree, uint64_t number, const void *data, size_t len);
int fence_tree_up(struct fence_tree *tree, unsigned int from, uint64_t number,
		  const void *data, size_t len);
int fence_tree_down(struct fence_tree *tree, uint64_t number, const void *data, size_t len);
/* What waits for an answer is said again: after one tick, after two more, and so on up to every 16th. */
void fence_tree_tick(struct fence_tree *tree);

#endif /* STILLPOINT_FENCE_TREE_H */
