// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sharing of descriptor tables, working directories, memory and signal actions between
 * tasks while the tree is built.
 *
 * A task can get a shared table only by inheriting it from its creator.  All tasks that
 * share a table have a lowest common ancestor.  Every process on the way down from that
 * ancestor to them is born with the table.  If it has another table of its own, it drops
 * the shared one (unshare) when the children that need it are there.  The contents of a
 * table do not matter while the tree is built: the kernel fills tables at the end.  A
 * process can pass on one foreign table in this way, not two: the second is refused, and
 * so is sharing between roots.
 *
 * Memory cannot be dropped: only a parent and its child can share it.
 */
#include "engine/core/plan.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

/* One kind of table. */
struct sharing {
	struct plan *plan;
	uint64_t flag;
	const char *what;
	uint32_t *own;		/* by task: identifier, 0: none */
	uint32_t *birth;	/* by task: table that it must inherit; 0: any */
	int *depth;
};

static void plan_sharing_refuse(struct ckpt_error *error, const struct plan_task *task,
				const struct plan_task *with, const char *what)
{
	plan_refuse(error, CKPT_R_SHARED_FILES, task->proc,
		    "%s shared with pid %d cannot be shared again", what, with->pid);
}

static int plan_sharing_ancestor(const struct sharing *s, int a, int b)
{
	while (a != b && a != PLAN_NONE && b != PLAN_NONE) {
		if (s->depth[a] >= s->depth[b])
			a = s->plan->tasks[a].parent;
		else
			b = s->plan->tasks[b].parent;
	}
	return a == b ? a : PLAN_NONE;
}

/* Mark the tasks from @task up to, not including, @top; false if one needs another table. */
static bool mark_way(struct sharing *s, int task, int top, uint32_t id)
{
	for (; task != top; task = s->plan->tasks[task].parent) {
		if (s->birth[task] && s->birth[task] != id)
			return false;
		s->birth[task] = id;
	}
	return true;
}

/* Mark all tasks that must inherit a table. @members: tasks that share it, parents first */
static void mark_group(struct sharing *s, const int *members, int nr,
		       struct ckpt_error *error)
{
	const struct plan_task *tasks = s->plan->tasks;
	int top = members[0];
	bool ok;

	for (int i = 1; i < nr && top != PLAN_NONE; i++)
		top = plan_sharing_ancestor(s, top, members[i]);
	ok = top != PLAN_NONE;
	for (int i = 0; i < nr && ok; i++)
		ok = mark_way(s, members[i], top, s->own[members[i]]);
	if (!ok)
		plan_sharing_refuse(error, &tasks[members[0]], &tasks[members[1]], s->what);
}

static int by_table(const void *a, const void *b, void *arg)
{
	const struct sharing *s = arg;
	const int *x = a, *y = b;

	if (s->own[*x] != s->own[*y])
		return s->own[*x] < s->own[*y] ? -1 : 1;
	return *x - *y;
}

static int mark_groups(struct sharing *s, struct ckpt_error *error)
{
	int nr = s->plan->nr_tasks, first, i;
	_cleanup_free_ int *order = calloc((size_t)nr, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, (size_t)nr, sizeof(*order), by_table, s);
	for (first = 0, i = 1; i <= nr; i++) {
		if (i < nr && s->own[order[i]] == s->own[order[first]])
			continue;
		if (s->own[order[first]] && i - first > 1)
			mark_group(s, order + first, i - first, error);
		first = i;
	}
	return 0;
}

/* The table that task @index has before it unshares. */
static uint32_t first_table(const struct sharing *s, int index)
{
	if (s->birth[index])
		return s->birth[index];
	for (int c = s->plan->tasks[index].child; c != PLAN_NONE; c = s->plan->tasks[c].sibling)
		if (s->birth[c] && s->birth[c] != s->own[index])
			return s->birth[c];
	return s->own[index];
}

/* Decide when each child of task @index is created; @early, @late: by task. */
static void place_children(struct sharing *s, int index, bool *early, bool *late,
			   struct ckpt_error *error)
{
	struct plan_task *tasks = s->plan->tasks;
	uint32_t first = first_table(s, index);

	if (first != s->own[index])
		tasks[index].unshare_flags |= s->flag;
	for (int c = tasks[index].child; c != PLAN_NONE; c = tasks[c].sibling) {
		if (!s->birth[c])
			continue;
		tasks[c].clone_flags |= s->flag;
		if (s->birth[c] == first && first != s->own[index])
			early[c] = true;
		else if (s->birth[c] == s->own[index] && first != s->own[index])
			late[c] = true;
		else if (s->birth[c] != first)
			plan_sharing_refuse(error, &tasks[c], &tasks[index], s->what);
	}
}

/* Memory and signal actions are shared between parent and child only; else refuse. */
static void place_memory(struct plan *plan, int index, struct ckpt_error *error)
{
	struct plan_task *task = &plan->tasks[index];
	const struct state_proc *proc = task->proc, *parent = proc->parent;

	if (parent && parent->mm == proc->mm) {
		task->clone_flags |= CLONE_VM;
		if (parent->rec->sighand_id == proc->rec->sighand_id)
			task->clone_flags |= CLONE_SIGHAND;
	}
	if (proc->mm->nr_users == 1)	/* then nobody shares its signal actions, either */
		return;
	for (int i = 0; i < index; i++) {
		const struct state_proc *other = plan->tasks[i].proc;

		if (!other || other == parent || plan->tasks[i].role != PLAN_LIVE)
			continue;
		if (other->mm == proc->mm && !(task->clone_flags & CLONE_VM))
			plan_refuse(error, CKPT_R_SHARED_MM, proc,
				    "memory shared with pid %d, which is not its parent",
				    other->rec->pid);
		if (other->rec->sighand_id && other->rec->sighand_id == proc->rec->sighand_id &&
		    !(task->clone_flags & CLONE_SIGHAND))
			plan_refuse(error, CKPT_R_SHARED_MM, proc,
				    "signal actions shared with pid %d, which is not its parent",
				    other->rec->pid);
	}
}

/* Early children first; the order is kept otherwise. */
static void sort_children(struct plan *plan, int *head, const bool *early)
{
	int heads[2] = { PLAN_NONE, PLAN_NONE };
	int *tails[2] = { &heads[0], &heads[1] };

	for (int c = *head; c != PLAN_NONE;) {
		int next = plan->tasks[c].sibling, which = early[c] ? 0 : 1;

		plan->tasks[c].late = which;
		plan->tasks[c].sibling = PLAN_NONE;
		*tails[which] = c;
		tails[which] = &plan->tasks[c].sibling;
		c = next;
	}
	*tails[0] = heads[1];
	*head = heads[0];
}

static void place_all(struct sharing *files, struct sharing *fs, bool *early, bool *late,
		      struct ckpt_error *error)
{
	struct plan *plan = files->plan;

	for (int i = plan->nr_helpers; i < plan->nr_tasks; i++) {
		struct plan_task *task = &plan->tasks[i];

		if (task->role != PLAN_LIVE)
			continue;
		place_children(files, i, early, late, error);
		place_children(fs, i, early, late, error);
		place_memory(plan, i, error);
		for (int c = task->child; c != PLAN_NONE; c = plan->tasks[c].sibling)
			if (early[c] && late[c])
				plan_sharing_refuse(error, &plan->tasks[c], task, "tables");
		sort_children(plan, &task->child, early);
	}
}

static int sharing_init(struct sharing *s, struct plan *plan, uint64_t flag, const char *what,
			int *depth)
{
	s->plan = plan;
	s->flag = flag;
	s->what = what;
	s->depth = depth;
	s->own = calloc((size_t)plan->nr_tasks, sizeof(*s->own));
	s->birth = calloc((size_t)plan->nr_tasks, sizeof(*s->birth));
	if (!s->own || !s->birth)
		return -ENOMEM;
	for (int i = plan->nr_helpers; i < plan->nr_tasks; i++) {
		const struct ckpt_rec_proc *rec = plan->tasks[i].proc->rec;

		if (plan->tasks[i].role == PLAN_LIVE)
			s->own[i] = flag == CLONE_FS ? rec->fs_id : rec->files_id;
	}
	return 0;
}

int plan_sharing(struct plan *plan, struct ckpt_error *error)
{
	struct sharing files = { 0 }, fs = { 0 };
	size_t nr = (size_t)plan->nr_tasks;
	int *depth = calloc(nr, sizeof(*depth));
	bool *early = calloc(nr, sizeof(*early)), *late = calloc(nr, sizeof(*late));
	int ret = -ENOMEM;

	if (!depth || !early || !late)
		goto out;
	for (int i = 0; i < plan->nr_tasks; i++)
		if (plan->tasks[i].parent != PLAN_NONE)
			depth[i] = depth[plan->tasks[i].parent] + 1;
	ret = sharing_init(&files, plan, CLONE_FILES, "a descriptor table", depth);
	if (!ret)
		ret = sharing_init(&fs, plan, CLONE_FS, "a working directory", depth);
	if (ret)
		goto out;
	ret = mark_groups(&files, error);
	if (!ret)
		ret = mark_groups(&fs, error);
	if (ret)
		goto out;
	place_all(&files, &fs, early, late, error);
out:
	free(depth);
	free(early);
	free(late);
	free(files.own);
	free(files.birth);
	free(fs.own);
	free(fs.birth);
	return ret ? error_fail(error, ret, "out of memory") : 0;
}
