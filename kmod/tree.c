// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding the process tree: roots, the scan.
 *
 * A scan is one walk over the children lists with tasklist_lock held for
 * reading, so no task forks, is reaped or moves to another parent meanwhile.  The scan only takes
 * references, so it holds the lock no longer than it takes to follow the pointers of the tree.
 * Roots are struct pids, which each scan looks up again.
 *
 * A process whose parent died has been handed to a subreaper or to init: the scan finds it only if
 * that subreaper is in the tree.
 */
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <linux/ckpt.h>

#include "capture.h"
#include "compat/ksyms.h"
#include "context.h"
#include "tree.h"

#define CKPT_MAX_ROOTS		1024

/* ----------------------------------------------------------------- roots */

static struct ckpt_root *ckpt_tree_root(struct ckpt_tree *tree, struct pid *pid)
{
	struct ckpt_root *root;

	hash_for_each_possible(tree->root_by_pid, root, hash, (unsigned long)pid)
		if (root->pid == pid)
			return root;
	return NULL;
}

static int ckpt_tree_add_root(struct ckpt_tree *tree, struct ckpt_ctx *ctx, pid_t nr)
{
	struct ckpt_root *root = &tree->roots[tree->nr_roots];
	struct pid *pid;

	rcu_read_lock();
	pid = nr > 0 ? get_pid(find_pid_ns(nr, ctx->pid_ns)) : NULL;
	rcu_read_unlock();
	if (!pid) {
		ckpt_refuse_pid(ctx, CKPT_R_NO_PROCESS, nr, "pid %d", nr);
		return 0;
	}
	if (ckpt_tree_root(tree, pid)) {
		put_pid(pid);
		return 0;
	}
	root->pid = pid;
	hash_add(tree->root_by_pid, &root->hash, (unsigned long)pid);
	tree->nr_roots++;
	return 0;
}

/* The reason why @task cannot be a root, or CKPT_R_NONE. */
static enum ckpt_reason ckpt_tree_check_root(struct ckpt_tree *tree, struct ckpt_ctx *ctx,
					     struct task_struct *task)
{
	struct task_struct *t;
	struct pid *pid;

	if (!task || !thread_group_leader(task))
		return CKPT_R_NO_PROCESS;
	if (task->flags & PF_KTHREAD)
		return CKPT_R_KERNEL_THREAD;
	if (is_global_init(task) || task_pid_nr_ns(task, ctx->pid_ns) == 1)
		return CKPT_R_INIT;
	pid = task_tgid(task);
	t = current->group_leader;
	if (tree->flags & CKPT_TARGET_DESCENDANTS)
		t = rcu_dereference(t->real_parent)->group_leader;
	while (!is_global_init(t) && t->pid) {
		if (task_tgid(t) == pid)
			return CKPT_R_ANCESTOR;
		t = rcu_dereference(t->real_parent)->group_leader;
	}
	return CKPT_R_NONE;
}

static void ckpt_tree_check_roots(struct ckpt_tree *tree, struct ckpt_ctx *ctx)
{
	enum ckpt_reason reason;
	unsigned int i;
	pid_t nr;

	for (i = 0; i < tree->nr_roots; i++) {
		rcu_read_lock();
		reason = ckpt_tree_check_root(tree, ctx,
					      pid_task(tree->roots[i].pid, PIDTYPE_PID));
		nr = pid_nr_ns(tree->roots[i].pid, ctx->pid_ns);
		rcu_read_unlock();
		if (reason != CKPT_R_NONE)
			ckpt_refuse_pid(ctx, reason, nr, "pid %d", nr);
	}
}

int ckpt_tree_init(struct ckpt_tree *tree, const struct ckpt_target *arg,
		   struct ckpt_ctx *ctx)
{
	unsigned int i;
	s32 *pids;
	int err;

	if (!arg->nr_roots || arg->nr_roots > CKPT_MAX_ROOTS)
		return -EINVAL;
	tree->flags = arg->flags;
	hash_init(tree->root_by_pid);
	err = ckpt_excludes_init(&tree->excludes, arg, ctx);
	if (err)
		return err;
	tree->roots = kvcalloc(arg->nr_roots, sizeof(*tree->roots), GFP_KERNEL_ACCOUNT);
	if (!tree->roots)
		return -ENOMEM;
	pids = vmemdup_user(u64_to_user_ptr(arg->roots), arg->nr_roots * sizeof(*pids));
	if (IS_ERR(pids))
		return PTR_ERR(pids);
	for (i = 0; i < arg->nr_roots && !err; i++)
		err = ckpt_tree_add_root(tree, ctx, pids[i]);
	kvfree(pids);
	if (err)
		return err;
	ckpt_tree_check_roots(tree, ctx);
	return 0;
}

/* ------------------------------------------------------------- the scan */

void ckpt_tree_forget(struct ckpt_tree *tree)
{
	unsigned int i;

	for (i = 0; i < tree->nr_procs; i++)
		put_task_struct(tree->procs[i].leader);
	for (i = 0; i < tree->nr_members; i++)
		put_task_struct(tree->members[i].task);
	tree->nr_procs = 0;
	tree->nr_members = 0;
}

void ckpt_tree_free(struct ckpt_tree *tree)
{
	unsigned int i;

	ckpt_tree_forget(tree);
	kvfree(tree->procs);
	kvfree(tree->members);
	for (i = 0; i < tree->nr_roots; i++)
		put_pid(tree->roots[i].pid);
	kvfree(tree->roots);
	ckpt_excludes_free(&tree->excludes);
}

static bool ckpt_tree_push(struct ckpt_tree *tree, struct task_struct *leader, int parent)
{
	struct ckpt_proc *proc;

	if (tree->nr_procs == tree->max_procs)
		return false;
	proc = &tree->procs[tree->nr_procs++];
	proc->leader = get_task_struct(leader);
	proc->parent = parent;
	return true;
}

static bool ckpt_tree_push_children(struct ckpt_tree *tree, struct task_struct *leader,
				    int parent)
{
	struct task_struct *thread, *child;

	for_each_thread(leader, thread)
		list_for_each_entry(child, &thread->children, sibling)
			if (!ckpt_tree_push(tree, child, parent))
				return false;
	return true;
}

/* The parent process; called under RCU or tasklist_lock. */
static struct task_struct *ckpt_tree_parent(struct task_struct *task)
{
	return rcu_dereference_check(task->real_parent,
				     lockdep_tasklist_lock_is_held())->group_leader;
}

/* True for a root below another root: the scan finds it from there. */
static bool ckpt_tree_below_root(struct ckpt_tree *tree, struct task_struct *task)
{
	struct task_struct *t = ckpt_tree_parent(task);

	for (; !is_global_init(t) && t->pid; t = ckpt_tree_parent(t))
		if (ckpt_tree_root(tree, task_tgid(t)))
			return true;
	return false;
}

static bool ckpt_tree_push_roots(struct ckpt_tree *tree)
{
	unsigned int i;

	for (i = 0; i < tree->nr_roots; i++) {
		struct task_struct *task = pid_task(tree->roots[i].pid, PIDTYPE_TGID);

		if (!task || ckpt_tree_below_root(tree, task))
			continue;
		if (tree->flags & CKPT_TARGET_DESCENDANTS) {
			if (!ckpt_tree_push_children(tree, task, -1))
				return false;
		} else if (!ckpt_tree_push(tree, task, -1)) {
			return false;
		}
	}
	return true;
}

/* True for a thread to leave out; never a leader: ckpt_excludes_check() refuses that. */
static bool ckpt_tree_leaves_out(struct ckpt_tree *tree, struct ckpt_ctx *ctx,
				 struct task_struct *thread, pid_t tgid)
{
	return !thread_group_leader(thread) &&
	       ckpt_excludes_one(&tree->excludes, CKPT_EXCLUDE_THREAD, tgid,
				 task_pid_nr_ns(thread, ctx->pid_ns));
}

static bool ckpt_tree_push_threads(struct ckpt_tree *tree, struct ckpt_proc *proc,
				   struct ckpt_ctx *ctx)
{
	struct task_struct *thread;
	pid_t tgid = 0;

	if (tree->excludes.nr)
		tgid = task_tgid_nr_ns(proc->leader, ctx->pid_ns);
	proc->first = tree->nr_members;
	proc->nr_excluded = 0;
	for_each_thread(proc->leader, thread) {
		struct ckpt_member *member;

		if (thread->exit_state)
			continue;
		if (tree->excludes.nr && ckpt_tree_leaves_out(tree, ctx, thread, tgid)) {
			proc->nr_excluded++;
			continue;
		}
		if (tree->nr_members == tree->max_members)
			return false;
		member = &tree->members[tree->nr_members++];
		member->task = get_task_struct(thread);
		member->thread = NULL;
	}
	proc->nr = tree->nr_members - proc->first;
	return true;
}

/* Walk the tree once; false if the arrays are too small. */
static bool ckpt_tree_walk(struct ckpt_tree *tree, struct ckpt_ctx *ctx)
{
	unsigned int i;

	if (!ckpt_tree_push_roots(tree))
		return false;
	for (i = 0; i < tree->nr_procs; i++) {
		if (!ckpt_tree_push_threads(tree, &tree->procs[i], ctx))
			return false;
		if (!ckpt_tree_push_children(tree, tree->procs[i].leader, i))
			return false;
	}
	return true;
}

static int ckpt_tree_grow(struct ckpt_tree *tree)
{
	unsigned int procs = max(16U, tree->max_procs);
	unsigned int members = max(128U, tree->max_members);

	if (tree->nr_procs == procs)
		procs *= 2;
	if (tree->nr_members == members)
		members *= 2;
	ckpt_tree_forget(tree);
	if (members > 2 * CKPT_MAX_THREADS || procs > 2 * CKPT_MAX_THREADS)
		return -E2BIG;
	kvfree(tree->procs);
	kvfree(tree->members);
	tree->max_procs = 0;
	tree->max_members = 0;
	tree->procs = kvcalloc(procs, sizeof(*tree->procs), GFP_KERNEL_ACCOUNT);
	tree->members = kvcalloc(members, sizeof(*tree->members), GFP_KERNEL_ACCOUNT);
	if (!tree->procs || !tree->members)
		return -ENOMEM;
	tree->max_procs = procs;
	tree->max_members = members;
	return 0;
}

int ckpt_tree_scan(struct ckpt_tree *tree, struct ckpt_ctx *ctx)
{
	bool complete;
	int err;

	ckpt_tree_forget(tree);
	for (;;) {
		read_lock(ckpt_kdata.tasklist_lock);
		complete = ckpt_tree_walk(tree, ctx);
		read_unlock(ckpt_kdata.tasklist_lock);
		if (complete)
			break;
		err = ckpt_tree_grow(tree);
		if (err)
			return err;
	}
	return tree->nr_members > CKPT_MAX_THREADS ? -E2BIG : 0;
}
