// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences of a job over its nodes; see fence_tree.h.
 *
 * One fence is open: the one after the last that is done here.  No node below is ahead of
 * it, because answers reach that node only from here.  No node below is behind by more than
 * one, because the fence before could not have been done without its block.  So two things
 * are kept: the blocks of the open fence, and the last answer, for a node that lost it.
 */
#include "coord/fence_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MAX	16	/* ticks between two repetitions */

struct block {
	bool there;
	void *data;
	size_t len;
};

struct fence_tree {
	unsigned int node;
	unsigned int first;	/* node number of the first child */
	unsigned int nr_children;
	size_t max;
	const struct fence_tree_ops *ops;
	void *arg;
	uint64_t open;		/* number of the open fence; 0: not known */
	struct block sum;	/* blocks of our subtree, sent up */
	unsigned int pause, ticks;	/* ticks between two sendings of @sum; since the last */
	struct block last;	/* answer to the fence before the open one */
	struct block block[FENCE_TREE_ARITY + 1];	/* our block, then the children's */
};

int fence_tree_create(unsigned int node, unsigned int nr_nodes, size_t max,
		      const struct fence_tree_ops *ops, void *arg,
		      struct fence_tree **ret_tree)
{
	struct fence_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->node = node;
	t->first = node * FENCE_TREE_ARITY + 1;
	if (t->first < nr_nodes)
		t->nr_children = nr_nodes - t->first;
	if (t->nr_children > FENCE_TREE_ARITY)
		t->nr_children = FENCE_TREE_ARITY;
	t->max = max;
	t->ops = ops;
	t->arg = arg;
	t->open = 1;
	*ret_tree = t;
	return 0;
}

void fence_tree_resume(struct fence_tree *t)
{
	t->open = 0;
}

bool fence_tree_waits(const struct fence_tree *t)
{
	unsigned int i;

	for (i = 0; i <= t->nr_children; i++) {
		if (t->block[i].there)
			return true;
	}
	return false;
}

static void block_drop(struct block *block)
{
	free(block->data);
	*block = (struct block) { 0 };
}

static void blocks_drop(struct fence_tree *t)
{
	unsigned int i;

	block_drop(&t->sum);
	for (i = 0; i <= FENCE_TREE_ARITY; i++)
		block_drop(&t->block[i]);
}

void fence_tree_destroy(struct fence_tree *t)
{
	if (!t)
		return;
	blocks_drop(t);
	block_drop(&t->last);
	free(t);
}

static int block_set(struct block *block, const void *data, size_t len)
{
	void *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, data, len);
	free(block->data);
	*block = (struct block) { true, copy, len };
	return 0;
}

static void go_up(const struct fence_tree *t)
{
	t->ops->up((t->node - 1) / FENCE_TREE_ARITY, t->open, t->sum.data, t->sum.len,
		   t->arg);
}

/* The open fence is done: give the answer to our shim and the children; open the next one. */
static int fence_tree_finish(struct fence_tree *t, const void *data, size_t len)
{
	uint64_t number = t->open;
	struct block answer = { 0 };
	unsigned int i;
	int err = block_set(&answer, data, len);

	if (err)
		return err;
	blocks_drop(t);
	block_drop(&t->last);
	t->last = answer;
	t->open++;
	for (i = 0; i < t->nr_children; i++)
		t->ops->down(t->first + i, number, answer.data, answer.len, t->arg);
	t->ops->done(number, answer.data, answer.len, t->arg);
	return 0;
}

/* When all blocks of the subtree are there, join them and send them up; the root is done then. */
static int fence_tree_advance(struct fence_tree *t)
{
	struct block sum = { .there = true };
	unsigned int i;
	int err = 0;

	for (i = 0; i <= t->nr_children; i++) {
		if (!t->block[i].there)
			return 0;
		if (t->block[i].len > t->max - sum.len)
			return -EMSGSIZE;
		sum.len += t->block[i].len;
	}
	sum.data = malloc(sum.len + 1);
	if (!sum.data)
		return -ENOMEM;
	for (i = 0, sum.len = 0; i <= t->nr_children; i++) {
		memcpy((char *)sum.data + sum.len, t->block[i].data, t->block[i].len);
		sum.len += t->block[i].len;
	}
	if (t->node) {
		block_drop(&t->sum);
		t->sum = sum;
		t->pause = 1;
		t->ticks = 0;
		go_up(t);
		return 0;
	}
	err = fence_tree_finish(t, sum.data, sum.len);
	block_drop(&sum);
	return err;
}

int fence_tree_known(struct fence_tree *t, uint64_t number, const void *data, size_t len)
{
	int err;

	if (t->open && (number + 1 != t->open || t->last.there))
		return 0;
	if (len > t->max)
		return -EMSGSIZE;
	err = block_set(&t->last, data, len);
	if (!err)
		t->open = number + 1;
	return err;
}

int fence_tree_local(struct fence_tree *t, uint64_t number, const void *data, size_t len)
{
	int err;

	if (!t->open)
		t->open = number;
	if (number + 1 == t->open && t->last.there)
		t->ops->done(number, t->last.data, t->last.len, t->arg);
	if (number != t->open)
		return 0;
	err = block_set(&t->block[0], data, len);
	return err ? err : fence_tree_advance(t);
}

int fence_tree_up(struct fence_tree *t, unsigned int from, uint64_t number,
		  const void *data, size_t len)
{
	unsigned int child = from - t->first;
	int err;

	if (from < t->first || child >= t->nr_children)
		return -EPROTO;
	if (number + 1 == t->open && t->last.there)
		t->ops->down(from, number, t->last.data, t->last.len, t->arg);
	if (!t->open || number != t->open || t->block[1 + child].there)
		return 0;
	err = block_set(&t->block[1 + child], data, len);
	return err ? err : fence_tree_advance(t);
}

int fence_tree_down(struct fence_tree *t, uint64_t number, const void *data, size_t len)
{
	if (!t->node)
		return -EPROTO;
	/* An answer without our blocks in it is no answer to this fence. */
	if (number != t->open || !t->sum.there)
		return 0;
	return len > t->max ? -EMSGSIZE : fence_tree_finish(t, data, len);
}

/*
 * Repeat less and less often: the blocks may be long, and the fence may wait for other
 * nodes, not for a lost message.
 */
void fence_tree_tick(struct fence_tree *t)
{
	if (!t->sum.there || ++t->ticks < t->pause)
		return;
	t->ticks = 0;
	t->pause = t->pause < PAUSE_MAX / 2 ? t->pause * 2 : PAUSE_MAX;
	go_up(t);
}
