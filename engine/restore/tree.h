/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building the tree: from a plan to processes and threads that have entered.
 *
 * The builder calls tree_build(), which creates the helpers and the roots; every
 * process creates its own children and threads, sets what system calls can set,
 * and enters the context (task.c).  Those that would close the last descriptor
 * of the context enter when all others have (tree_close()).  A failure anywhere
 * is written to the shared page, and everyone who still can leaves.
 */
#ifndef STILLPOINT_TREE_H
#define STILLPOINT_TREE_H

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/core/plan.h"

enum tree_phase {
	TREE_BUILD = 0,		/* closers wait */
	TREE_CLOSE = 1,		/* closers enter */
	TREE_FAILED = 2,	/* whoever has not entered exits */
};

/* Mapped shared in all of them. */
struct tree_shared {
	uint32_t phase;		/* enum tree_phase; futex */
	uint32_t failed;	/* 1: being written, 2: there */
	int32_t err;
	pid_t pid;
	const char *what;	/* string literal: the same address everywhere */
	uint8_t created[];	/* by task */
};

struct tree {
	const struct plan *plan;
	struct tree_shared *shared;
	int ctx_fd;
	pid_t builder;		/* parent of the helpers */
	pid_t reaper;		/* parent of the roots */
	uint64_t bounding;	/* capability bounding set of the builder */
	const int *cwd;		/* descriptor by task */
	const int *root;	/* descriptor by task; -1: the builder's own */
	const bool *had;	/* cwd, root by task: the very directory that the tree had, whose owner
				 * may not search it any more; two arrays
				 */
	const int *tty;		/* by task: terminal of a session leader; -1: none */
};

int tree_shared_create(const struct plan *plan, struct tree_shared **ret_shared);

/* Creates all; -EEXIST: a number is in use (-EINVAL: too large for this node). */
int tree_build(struct tree *tree, struct ckpt_error *error);
/* Waits until every thread has entered, the closers last. */
int tree_enter(struct tree *tree, struct kdev *dev, struct ckpt_error *error);
/* When the memory is filled: limits of resources, which may be below what is in use. */
int tree_limits(const struct tree *tree, struct ckpt_error *error);
/* Ends the helpers: the kernel has put everyone where they belong. */
void tree_done(struct tree *tree);
/* Ends whatever was created and has not entered; the context ends the rest. */
void tree_kill(struct tree *tree);

/* task.c: create the process @index from here; its pid, or a negative errno. */
long task_create(const struct tree *tree, int index);

#endif /* STILLPOINT_TREE_H */
