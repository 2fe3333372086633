// SPDX-License-Identifier: GPL-2.0-only
/*
 * NUMA memory policies of threads and of mappings, into records.
 *
 * Only the thread sets its policy, but a cpuset may move the policy to other nodes at any time,
 * under the task's lock. The policy of a mapping changes under mmap_lock for writing only. A kernel
 * without NUMA has no policies. restore_mempolicy.c restores them.
 */
#include <linux/bitmap.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/sched/task.h>

#include <linux/ckpt.h>

#include "collect.h"
#include "records.h"

#ifdef CONFIG_NUMA
static void ckpt_mempolicy_copy(struct ckpt_rec_mempolicy *rec, const struct mempolicy *policy)
{
	bool given = policy->flags & (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES);
	const nodemask_t *nodes = given ? &policy->w.user_nodemask : &policy->nodes;

	rec->mode = policy->mode;
	rec->flags = policy->flags & MPOL_MODE_FLAGS;
	rec->home = policy->home_node;
	bitmap_to_arr64(rec->nodes, nodes->bits, min(MAX_NUMNODES, CKPT_NODES_MAX));
}

int ckpt_collect_mempolicy(struct ckpt_collect *c, struct task_struct *task, s32 tid)
{
	struct ckpt_rec_mempolicy *rec;

	if (!READ_ONCE(task->mempolicy))
		return 0;
	rec = ckpt_records_add(c->recs, CKPT_REC_MEMPOLICY, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->tid = tid;
	rec->home = NUMA_NO_NODE;
	task_lock(task);
	if (task->mempolicy)	/* a killed task has given it back */
		ckpt_mempolicy_copy(rec, task->mempolicy);
	task_unlock(task);
	return 0;
}

int ckpt_collect_vma_mempolicy(struct ckpt_collect *c, const struct vm_area_struct *vma, u32 mm_id)
{
	struct ckpt_rec_mempolicy *rec;

	if (!vma->vm_policy)
		return 0;
	rec = ckpt_records_add(c->recs, CKPT_REC_MEMPOLICY, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->mm_id = mm_id;
	rec->start = vma->vm_start;
	ckpt_mempolicy_copy(rec, vma->vm_policy);
	return 0;
}
#else
int ckpt_collect_mempolicy(struct ckpt_collect *c, struct task_struct *task, s32 tid)
{
	return 0;
}

int ckpt_collect_vma_mempolicy(struct ckpt_collect *c, const struct vm_area_struct *vma, u32 mm_id)
{
	return 0;
}
#endif
