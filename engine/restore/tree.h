/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building the tree: from a plan to processes and threads that have entered.
 *
 * The builder calls tree_build(), which creates the helpers and the roots.  Every
 * process creates its own children and threads, sets its attributes by system calls,
 * and enters the context (task.c).  Tasks that would close the last descriptor of the
 * context (closers) enter when all others have entered (tree_enter()).  A failure
 * anywhere is written to the shared page, and every task that has not entered exits.
 */
#ifndef STILLPOINT_TREE_H
#define STILLPOINT_TREE_H

#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/core/plan.h"

enum tree_phase {
	TREE_BUILD = 0,		/* closers wait */
	TREE_CLOSE = 1,		/* closers enter */
	TREE_FAILED = 2,	/* tasks that have not entered exit */
};

/* A page shared by the builder and all tasks. */
struct tree_shared {
	uint32_t phase;		/* enum tree_phase; futex */
	uint32_t failed;	/* 1: err, pid, what are being written; 2: they are there */
	int32_t err;
	pid_t pid;
	const char *what;	/* string literal: the same address in all tasks */
	uint8_t created[];	/* by task: 1 if it was created */
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
	const bool *had;	/* two arrays by task, for cwd and root: it is the very directory
				 * that the tree had, and its owner may not search it any more
				 */
	const int *tty;		/* by task: terminal of a session leader; -1: none */
};

int tree_shared_create(const struct plan *plan, struct tree_shared **ret_shared);

/* Create helpers and roots; -EEXIST: a number is in use (-EINVAL: too large for this node). */
int tree_build(struct tree *tree, struct ckpt_error *error);
/* Wait until every thread has entered, the closers last. */
int tree_enter(struct tree *tree, struct kdev *dev, struct ckpt_error *error);
/* When the memory is filled: set resource limits, which may be below what is in use. */
int tree_limits(const struct tree *tree, struct ckpt_error *error);
/* End the helpers, when the kernel has put all tasks into their sessions and groups. */
void tree_done(struct tree *tree);
/* Kill the created tasks; those that have entered end when the context is closed. */
void tree_kill(struct tree *tree);

/* task.c: create the process @index from here; its pid, or a negative errno. */
long task_create(const struct tree *tree, int index);

#endif /* STILLPOINT_TREE_H */
