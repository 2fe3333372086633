/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fences of a job over its nodes: a fence brings the block of every node to every node.
 *
 * The nodes form a k-ary tree of their numbers, with node 0 at its root.  Blocks go up until
 * the root has all of them; then all of them go down together.
 *
 * Sans-IO: no clock, no socket.  Messages may be lost, doubled and late.  A node that waits
 * for an answer repeats its message on fence_tree_tick(), less and less often.
 */
#ifndef STILLPOINT_FENCE_TREE_H
#define STILLPOINT_FENCE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FENCE_TREE_ARITY 8

struct fence_tree;

struct fence_tree_ops {
	/* Send the blocks of a subtree to the parent @node. */
	void (*up)(unsigned int node, uint64_t number, const void *data, size_t len,
		   void *arg);
	/* Send all blocks to the child @node. */
	void (*down)(unsigned int node, uint64_t number, const void *data, size_t len,
		     void *arg);
	/* All blocks, for this node's shim: the fence is done here. */
	void (*done)(uint64_t number, const void *data, size_t len, void *arg);
};

/* @max: most bytes of all blocks together. 0 or -ENOMEM. @ops must outlive the tree. */
int fence_tree_create(unsigned int node, unsigned int nr_nodes, size_t max,
		      const struct fence_tree_ops *ops, void *arg,
		      struct fence_tree **ret_tree);
/*
 * Our daemon was restarted while the job ran: the number of the open fence is not known.
 * fence_tree_known() or fence_tree_local() sets it, from what our shim says.
 */
void fence_tree_resume(struct fence_tree *tree);
/*
 * After a restart of our daemon: the answer of fence @number, the last one that was done here,
 * as our shim has kept it. A child may not have got it yet. An answer that is already known
 * changes nothing. 0, -EMSGSIZE, -ENOMEM.
 */
int fence_tree_known(struct fence_tree *tree, uint64_t number, const void *data, size_t len);
/* Has our shim or a child sent its block for the open fence? Then it waits for the others. */
bool fence_tree_waits(const struct fence_tree *tree);
void fence_tree_destroy(struct fence_tree *tree);	/* NULL is fine */

/*
 * A block of our node, from its shim; blocks of a child's subtree; all blocks, from the parent.
 *
 * The first fence has number 1. A block for the fence before (from a shim that saw our daemon
 * restart, from a child that lost the answer) is answered again. A block for any other fence
 * than the open one is dropped.
 * All three: 0; -EMSGSIZE: more than max bytes in all; -ENOMEM; -EPROTO: not from a child, or
 * an answer to the root.
 */
int fence_tree_local(struct fence_tree *tree, uint64_t number, const void *data, size_t len);
int fence_tree_up(struct fence_tree *tree, unsigned int from, uint64_t number,
		  const void *data, size_t len);
int fence_tree_down(struct fence_tree *tree, uint64_t number, const void *data, size_t len);
/* One tick has passed. Unanswered blocks go up again after 1, 2, 4, 8, then every 16 ticks. */
void fence_tree_tick(struct fence_tree *tree);

#endif /* STILLPOINT_FENCE_TREE_H */
