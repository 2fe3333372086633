/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process tree of a capture: its roots, its exclusions, and the processes and threads that the
 * last scan found.
 */
#ifndef _CKPT_TREE_H
#define _CKPT_TREE_H

#include <linux/hashtable.h>
#include <linux/types.h>

#include "exclude.h"

struct ckpt_ctx;
struct ckpt_target;
struct ckpt_thread;
struct pid;
struct task_struct;

/* A thread found by the scan, alive at that time. */
struct ckpt_member {
	struct task_struct *task;	/* reference */
	struct ckpt_thread
		*thread; /* NULL: not attached; valid under cmd_lock until the next reap */
	bool stopped; /* was in a group stop when the snapshot began: ckpt_freeze_note() */
};

/* A process found by the scan; parents come before their children. */
struct ckpt_proc {
	struct task_struct *leader;	/* reference; may be dead */
	unsigned int first;		/* its live threads: members[first .. first + nr) */
	unsigned int nr;
	unsigned int nr_excluded;	/* live threads that the caller excluded: they run */
	int parent;			/* index in procs; -1: outside of the tree */
};

struct ckpt_root {
	struct hlist_node hash;
	struct pid *pid;		/* reference */
};

struct ckpt_tree {
	u32 flags;			/* CKPT_TARGET_* */
	unsigned int nr_roots;
	struct ckpt_root *roots;
	DECLARE_HASHTABLE(root_by_pid, 6);
	struct ckpt_excludes excludes;

	unsigned int nr_procs, max_procs;
	struct ckpt_proc *procs;
	unsigned int nr_members, max_members;
	struct ckpt_member *members;
};

/* Take roots and exclusions over from user space. */
int ckpt_tree_init(struct ckpt_tree *tree, const struct ckpt_target *arg,
		   struct ckpt_ctx *ctx);
void ckpt_tree_free(struct ckpt_tree *tree);
/*
 * Find the processes and their threads, in one instant, and forget those of the
 * scan before.  -E2BIG if there are more than the module's limit.
 */
int ckpt_tree_scan(struct ckpt_tree *tree, struct ckpt_ctx *ctx);
/* Forget the processes and threads that the scan found. */
void ckpt_tree_forget(struct ckpt_tree *tree);

#endif /* _CKPT_TREE_H */
