// SPDX-License-Identifier: GPL-2.0-only
/*
 * NUMA memory policies of mappings, from their records.
 *
 * mbind(2) sets the policies, in a thread of the map, before memory is filled, so that pages go
 * where they belong. mbind(2) reads the nodes from user memory, and the map has only the new
 * mappings: so a scratch page is mapped meanwhile. The kernel ignores nodes that the machine or
 * the cpuset has not; a policy that names no other node is dropped. Threads set their own
 * policies by themselves (engine/restore/task_attr.c).
 */
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>

#include "compat/ksyms.h"
#include "restore.h"
#include "restore_mm.h"

/* More modes than any kernel has; mbind(2) refuses those that this kernel does not know. */
#define CKPT_MPOL_MODES		64

int ckpt_mempolicies_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream)
{
	const struct ckpt_rec_mempolicy *rec;
	struct ckpt_vma_item *item = job->items;

	while ((rec = ckpt_rec_next(stream))) {
		if (rec->hdr.type != CKPT_REC_MEMPOLICY || rec->tid ||
		    rec->mode >= CKPT_MPOL_MODES || rec->flags & ~MPOL_MODE_FLAGS)
			return -EINVAL;
		while (item < job->items + job->nr && item->rec->start < rec->start)
			item++;
		if (item == job->items + job->nr || item->rec->start != rec->start || item->policy)
			return -EINVAL;
		item->policy = rec;
		job->nr_policies++;
	}
	return 0;
}

#ifdef CONFIG_NUMA
static bool ckpt_mempolicy_has_home(const struct ckpt_rec_mempolicy *rec)
{
	return (rec->mode == MPOL_BIND || rec->mode == MPOL_PREFERRED_MANY) && rec->home >= 0 &&
	       rec->home < MAX_NUMNODES && node_online(rec->home);
}

static long ckpt_mempolicy_set(const struct ckpt_vma_item *item, unsigned long page)
{
	const struct ckpt_rec_mempolicy *rec = item->policy;
	const struct pt_regs regs = {
		.di = rec->start,
		.si = item->rec->end - rec->start,
		.dx = rec->mode | rec->flags,
		.r10 = page,
		.r8 = min(MAX_NUMNODES, CKPT_NODES_MAX) + 1,	/* the kernel subtracts one */
	};
	const struct pt_regs home = {
		.di = rec->start,
		.si = item->rec->end - rec->start,
		.dx = rec->home,
	};
	long err;

	if (copy_to_user((void __user *)page, rec->nodes, sizeof(rec->nodes)))
		return -EFAULT;
	err = ckpt_k(__x64_sys_mbind)(&regs);
	if (!err && ckpt_mempolicy_has_home(rec))
		err = ckpt_k(__x64_sys_set_mempolicy_home_node)(&home);
	return err == -EINVAL ? 0 : err;
}

int ckpt_mempolicies_set(struct ckpt_mm_job *job)
{
	unsigned long page;
	unsigned int i;
	long err = 0;

	if (!job->nr_policies)
		return 0;
	page = ckpt_scratch_map();
	if (IS_ERR_VALUE(page))
		return page;
	for (i = 0; i < job->nr && !err; i++) {
		if (!job->items[i].policy)
			continue;
		job->bad = i;
		err = ckpt_mempolicy_set(&job->items[i], page);
		cond_resched();
	}
	return ckpt_scratch_unmap(page) ?: err;
}
#else
int ckpt_mempolicies_set(struct ckpt_mm_job *job)
{
	return 0;
}
#endif
