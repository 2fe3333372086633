// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan of a restore: tasks in creation order, and the numbers they need.
 *
 * Every process is created by its parent, roots and helpers by the builder, so
 * the order is that of the tree.  If the leader of a session or process group is
 * gone, a helper takes its number until the kernel has put the members into it.
 * A zombie root is not created: its parent, which alone could ask for its status,
 * is not in the tree.  If such a zombie names a session or group, a helper does so.
 */
#include "engine/core/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

#define PID_MAX		(1 << 22)

void plan_refuse(struct ckpt_error *error, uint32_t reason, const struct state_proc *proc,
		 const char *format, ...)
{
	struct error_refusal refusal = { .reason = reason, .pid = proc->rec->pid };
	char detail[sizeof(refusal.detail)];
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	memcpy(refusal.comm, proc->rec->comm, sizeof(refusal.comm) - 1);
	error_refuse(error, &refusal, "%s", detail);
}

static bool is_zombie(const struct state_proc *proc)
{
	return proc->rec->state == CKPT_PROC_ZOMBIE;
}

/* Does the process become a task of its own? Not if there is none, or if it is a zombie root. */
static bool is_created(const struct state_proc *proc)
{
	return proc && (proc->parent || !is_zombie(proc));
}

/* ---------------------------------------------------------------- helpers */

static bool is_planned(const struct plan *plan, pid_t pid)
{
	for (int i = 0; i < plan->nr_helpers; i++)
		if (plan->tasks[i].pid == pid)
			return true;
	return false;
}

static void add_helper(struct plan *plan, pid_t pid, bool session)
{
	struct plan_task *task;

	if (!pid || is_created(state_proc_find(plan->state, pid)) || is_planned(plan, pid))
		return;
	task = &plan->tasks[plan->nr_tasks++];
	*task = (struct plan_task) {
		.role = PLAN_HELPER, .pid = pid, .setsid = session,
		.parent = PLAN_NONE, .child = PLAN_NONE, .sibling = PLAN_NONE,
	};
	plan->nr_helpers++;
}

/* Sessions first: a helper for a number that names both must lead the session. */
static void add_helpers(struct plan *plan)
{
	const struct state *state = plan->state;

	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (is_created(&state->procs[i]))
			add_helper(plan, state->procs[i].rec->sid, true);
	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (is_created(&state->procs[i]))
			add_helper(plan, state->procs[i].rec->pgid, false);
}

/* ---------------------------------------------------------------- tasks */

/* Append the task to the list whose head is *@link. */
static void plan_append(struct plan *plan, int *link, int index)
{
	while (*link != PLAN_NONE)
		link = &plan->tasks[*link].sibling;
	*link = index;
}

static int plan_add_proc(struct plan *plan, const struct state_proc *proc, const int *index_of,
			 struct ckpt_error *error)
{
	const struct state *state = plan->state;
	int index = plan->nr_tasks++;
	struct plan_task *task = &plan->tasks[index], *parent;

	*task = (struct plan_task) {
		.role = is_zombie(proc) ? PLAN_ZOMBIE : PLAN_LIVE,
		.pid = proc->rec->pid, .proc = proc,
		.setsid = !is_zombie(proc) && proc->rec->sid == proc->rec->pid,
		.leader_dead = proc->rec->flags & CKPT_PROC_LEADER_DEAD,
		.parent = PLAN_NONE, .child = PLAN_NONE, .sibling = PLAN_NONE,
	};
	if (task->role == PLAN_LIVE)
		plan->nr_threads += proc->nr_threads;
	if (!proc->parent) {
		plan_append(plan, &plan->first_root, index);
		return index;
	}
	/* a zombie has no children; a zombie root is not even created */
	if (is_zombie(proc->parent))
		return error_fail(error, -EBADMSG,
				   "the image is not sound: process %d is a child of zombie %d",
				   task->pid, proc->parent->rec->pid);
	task->parent = index_of[proc->parent - state->procs];
	parent = &plan->tasks[task->parent];
	plan_append(plan, &parent->child, index);
	if (task->role == PLAN_ZOMBIE)
		parent->zombies = true;
	return index;
}

static int add_procs(struct plan *plan, struct ckpt_error *error)
{
	const struct state *state = plan->state;
	_cleanup_free_ int *index_of = calloc(state->nr_procs, sizeof(*index_of));
	int index;

	if (!index_of)
		return error_fail(error, -ENOMEM, "out of memory");
	for (const struct state_proc *proc = NULL; (proc = state_proc_next(state, proc));) {
		if (!is_created(proc))
			continue;
		index = plan_add_proc(plan, proc, index_of, error);
		if (index < 0)
			return index;
		index_of[proc - state->procs] = index;
	}
	if (!plan->nr_threads)
		return error_fail(error, -EBADMSG,
				   "the image holds no process that could go on");
	return 0;
}

/* The last task with each descriptor table is its closer: it closes the context there. */
static void choose_closers(struct plan *plan)
{
	for (int i = plan->nr_helpers; i < plan->nr_tasks; i++) {
		struct plan_task *task = &plan->tasks[i];

		if (task->role != PLAN_LIVE)
			continue;
		task->closer = true;
		plan->nr_closers++;
		if (task->proc->fdtable->nr_users == 1)
			continue;
		for (int j = plan->nr_helpers; j < i; j++) {
			if (!plan->tasks[j].closer ||
			    plan->tasks[j].proc->fdtable != task->proc->fdtable)
				continue;
			plan->tasks[j].closer = false;
			plan->nr_closers--;
		}
	}
}

/* ---------------------------------------------------------------- numbers */

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int collect_pids(struct plan *plan, struct ckpt_error *error)
{
	unsigned int nr = 0;

	plan->pids = calloc((size_t)plan->nr_tasks + plan->nr_threads, sizeof(*plan->pids));
	if (!plan->pids)
		return error_fail(error, -ENOMEM, "out of memory");
	for (int i = 0; i < plan->nr_tasks; i++) {
		const struct plan_task *task = &plan->tasks[i];

		plan->pids[nr++] = task->pid;
		for (unsigned int t = 0; task->role == PLAN_LIVE && t < task->proc->nr_threads; t++)
			if (task->proc->threads[t].rec->tid != task->pid)
				plan->pids[nr++] = task->proc->threads[t].rec->tid;
	}
	qsort(plan->pids, nr, sizeof(*plan->pids), by_number);
	for (unsigned int i = 0; i < nr; i++)
		if (plan->pids[i] < 2 || plan->pids[i] > PID_MAX ||
		    (i && plan->pids[i] == plan->pids[i - 1]))
			return error_fail(error, -EBADMSG,
					   "the image is not sound: number %d of a process "
					   "or thread", plan->pids[i]);
	plan->nr_pids = nr;
	return 0;
}

static int plan_tasks(struct plan *plan, struct ckpt_error *error)
{
	int ret;

	/* each process is one task and may name a session and a group */
	plan->tasks = calloc((size_t)plan->state->nr_procs * 3, sizeof(*plan->tasks));
	if (!plan->tasks)
		return error_fail(error, -ENOMEM, "out of memory");
	add_helpers(plan);
	ret = add_procs(plan, error);
	if (ret)
		return ret;
	choose_closers(plan);
	ret = collect_pids(plan, error);
	return ret ? ret : plan_sharing(plan, error);
}

int plan_make(const struct state *state, const struct asker *asker, struct plan **ret_plan,
	      struct ckpt_error *error)
{
	struct plan *plan;
	int ret;

	if (!state->nr_procs || !state->system)
		return error_fail(error, -EBADMSG, "the image holds no process");
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return error_fail(error, -ENOMEM, "out of memory");
	plan->state = state;
	plan->first_root = PLAN_NONE;
	ret = plan_tasks(plan, error);
	if (!ret) {
		plan_owner(plan, asker, error);
		ret = error_refused(error, "restore");
	}
	if (ret) {
		plan_free(plan);
		return ret;
	}
	*ret_plan = plan;
	return 0;
}

struct plan *plan_free(struct plan *plan)
{
	if (!plan)
		return NULL;
	free(plan->tasks);
	free(plan->pids);
	free(plan);
	return NULL;
}
