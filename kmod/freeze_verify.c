// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a frozen tree is still as the freeze left it.
 *
 * A parked thread leaves the park only to die, but a stopped one may be continued at any time. So
 * a snapshot notes which threads are stopped, and verifies the tree before and after it reads.
 */
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>

#include "capture.h"
#include "freeze.h"
#include "thread.h"

bool ckpt_freeze_is_stopped(struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);

	/* a freezer takes a stopped task as it is */
	return state & __TASK_STOPPED ||
	       (state & TASK_FROZEN && READ_ONCE(task->jobctl) & JOBCTL_STOPPED);
}

void ckpt_freeze_note(struct ckpt_capture *cap)
{
	struct ckpt_tree *tree = &cap->tree;
	unsigned int i;

	for (i = 0; i < tree->nr_members; i++)
		tree->members[i].stopped = ckpt_freeze_is_stopped(tree->members[i].task);
}

/* True for a dying thread; the exec of a thread left out kills the others, not the process. */
static bool ckpt_freeze_is_dying(const struct ckpt_member *member)
{
	return !member->thread || ckpt_thread_is_gone(member->thread) ||
	       __fatal_signal_pending(member->task) ||
	       READ_ONCE(member->task->signal->flags) & SIGNAL_GROUP_EXIT;
}

void ckpt_freeze_verify_alive(struct ckpt_capture *cap)
{
	struct ckpt_tree *tree = &cap->tree;
	unsigned int i;

	for (i = 0; i < tree->nr_members; i++)
		if (ckpt_freeze_is_dying(&tree->members[i]))
			ckpt_refuse(cap, CKPT_R_KILLED, tree->members[i].task, 0,
				    "killed while its state was read");
}

bool ckpt_freeze_lost_any(const struct ckpt_capture *cap)
{
	const struct ckpt_tree *tree = &cap->tree;
	unsigned int i;

	for (i = 0; i < tree->nr_members; i++)
		if (ckpt_freeze_is_dying(&tree->members[i]))
			return true;
	return false;
}

void ckpt_freeze_verify(struct ckpt_capture *cap)
{
	struct ckpt_tree *tree = &cap->tree;
	unsigned int i;

	for (i = 0; i < tree->nr_members; i++) {
		struct ckpt_member *member = &tree->members[i];

		if (ckpt_freeze_is_dying(member))
			ckpt_refuse(cap, CKPT_R_KILLED, member->task, 0, "no longer frozen");
		else if (READ_ONCE(member->task->ptrace))
			ckpt_refuse(cap, CKPT_R_TRACED, member->task, 0, "ptrace");
		else if (member->stopped ? !ckpt_freeze_is_stopped(member->task) :
			 !ckpt_thread_is_parked(member->thread))
			ckpt_refuse(cap, CKPT_R_DELIVERY, member->task, 0,
				    "it was stopped, and is continued");
	}
}
