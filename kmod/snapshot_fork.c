// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fork that clones a memory map, and the mappings that it must not copy or account.
 *
 * Flags of mappings tell fork so: they are changed before the fork and changed back after it,
 * whatever its result.  Every thread of the map is parked, and an expiry of the pause waits
 * (cap->collecting), so the mappings do not change meanwhile, unless threads were left out.
 * Those map and unmap at any time, so this code must not assume that a mapping is still the one
 * it was before the fork.  If such a thread forks at that very moment, its child lacks the
 * mappings that were left out.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <linux/ckpt.h>

#include "capture.h"
#include "collect.h"
#include "compat/ksyms.h"
#include "compat/mm.h"
#include "context.h"
#include "exclude.h"
#include "objects.h"
#include "records.h"
#include "snapshot_fork.h"

/* ------------------------------------------------------ mappings not copied */

struct ckpt_span {
	unsigned long start, end;
};

/*
 * Mappings that fork must not copy: those left out, private huge pages, and System V segments.
 * Huge pages are read in the pause: with a copy, the job would need a second page from a pool that
 * may have none.  Programs ask how often a segment is attached (shm_nattch).  Spans
 * are the mappings that fork does not copy anyway; they keep their flag (VM_DONTCOPY).
 */
struct ckpt_uncopied {
	const struct ckpt_excludes *ex;
	pid_t pid;
	bool huge;		/* there may be huge pages */
	bool sysv;		/* there may be System V segments: a copy would be an attachment */
	unsigned int nr, max;
	struct ckpt_span *spans;
};

static bool ckpt_uncopied_is_more(const struct ckpt_uncopied *un, struct vm_area_struct *vma)
{
	bool huge = is_vm_hugetlb_page(vma) && !(vma->vm_flags & VM_MAYSHARE);
	bool sysv = un->sysv && vma->vm_file && ckpt_file_is_sysv(vma->vm_file);

	return (huge || sysv) &&
	       ckpt_excludes_range(un->ex, un->pid, vma->vm_start, vma->vm_end) !=
	       CKPT_EXCLUDED_WHOLLY;
}

/* Call @fn once for each such mapping, with mmap_lock held for writing. */
static void ckpt_uncopied_each(struct ckpt_uncopied *un, struct mm_struct *mm,
			       void (*fn)(struct ckpt_uncopied *un, struct vm_area_struct *vma))
{
	const struct ckpt_exclude *e;
	struct vm_area_struct *vma;
	u64 from = 0;

	while ((e = ckpt_excludes_next(un->ex, un->pid, from))) {
		VMA_ITERATOR(vmi, mm, e->start);

		for_each_vma_range(vmi, vma, e->end)
			if (vma->vm_start >= e->start && vma->vm_end <= e->end &&
			    vma->vm_end > from)		/* else the last range had it, too */
				fn(un, vma);
		from = e->end;
	}
	if (un->huge || un->sysv) {
		VMA_ITERATOR(vmi, mm, 0);

		for_each_vma(vmi, vma)
			if (ckpt_uncopied_is_more(un, vma))
				fn(un, vma);
	}
}

static void ckpt_uncopied_count(struct ckpt_uncopied *un, struct vm_area_struct *vma)
{
	un->max += !!(vma->vm_flags & VM_DONTCOPY);
}

static void ckpt_uncopied_set(struct ckpt_uncopied *un, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_DONTCOPY))
		ckpt_vm_flags_change(vma, VM_DONTCOPY, VM_DONTCOPY);
	else if (un->nr < un->max)
		un->spans[un->nr++] = (struct ckpt_span){ vma->vm_start, vma->vm_end };
}

static void ckpt_uncopied_clear(struct ckpt_uncopied *un, struct vm_area_struct *vma)
{
	unsigned int i;

	if (!(vma->vm_flags & VM_DONTCOPY))
		return;
	for (i = 0; i < un->nr; i++)
		if (un->spans[i].start < vma->vm_end && un->spans[i].end > vma->vm_start)
			return;
	ckpt_vm_flags_change(vma, 0, VM_DONTCOPY);
}

/* True if there may be mappings that fork must not copy. */
static bool ckpt_uncopied_look(struct ckpt_uncopied *un, struct mm_struct *mm)
{
#ifdef CONFIG_HUGETLB_PAGE
	un->huge = atomic_long_read(&mm->hugetlb_usage);
#endif
	return un->huge || un->sysv || ckpt_excludes_next(un->ex, un->pid, 0);
}

/*
 * Change the flags. Without memory return false and change nothing: fork then copies these
 * mappings too, and nobody reads the copies.
 */
static bool ckpt_uncopied_begin(struct ckpt_uncopied *un, struct mm_struct *mm)
{
	mmap_write_lock(mm);
	ckpt_uncopied_each(un, mm, ckpt_uncopied_count);
	un->spans = kvcalloc(max(un->max, 1U), sizeof(*un->spans), GFP_KERNEL);
	if (un->spans)
		ckpt_uncopied_each(un, mm, ckpt_uncopied_set);
	mmap_write_unlock(mm);
	return un->spans;
}

static void ckpt_uncopied_end(struct ckpt_uncopied *un, struct mm_struct *mm)
{
	mmap_write_lock(mm);
	ckpt_uncopied_each(un, mm, ckpt_uncopied_clear);
	mmap_write_unlock(mm);
	kvfree(un->spans);
}

/* --------------------------------------------------------------- accounting */

/*
 * Fork accounts the copy of every private mapping at its full length, as if all of it would be
 * written; so overcommit rules may refuse a snapshot of a job that they allow.  watch.c watches
 * the pages that really become two, so a copy that would not fit is made with VM_ACCOUNT taken
 * off the mappings.  Mappings are identified by their index, so no thread may run meanwhile.
 */
static void ckpt_snapshot_account(struct mm_struct *mm, unsigned long *accounted, bool on)
{
	struct vm_area_struct *vma;
	unsigned int i = 0;

	VMA_ITERATOR(vmi, mm, 0);

	mmap_write_lock(mm);
	for_each_vma(vmi, vma) {
		if (on && test_bit(i, accounted)) {
			ckpt_vm_flags_change(vma, VM_ACCOUNT, VM_ACCOUNT);
		} else if (!on && vma->vm_flags & VM_ACCOUNT) {
			__set_bit(i, accounted);
			ckpt_vm_flags_change(vma, 0, VM_ACCOUNT);
		}
		i++;
	}
	mmap_write_unlock(mm);
}

static pid_t ckpt_snapshot_fork_unaccounted(struct kernel_clone_args *args)
{
	struct mm_struct *mm = current->mm;
	unsigned long *accounted;
	pid_t pid;

	accounted = kvcalloc(BITS_TO_LONGS(mm->map_count), sizeof(long), GFP_KERNEL);
	if (!accounted)
		return -ENOMEM;
	ckpt_snapshot_account(mm, accounted, false);
	pid = ckpt_k(kernel_clone)(args);
	ckpt_snapshot_account(mm, accounted, true);
	kvfree(accounted);
	return pid;
}

/* Fork with changed flags; called with cap->collecting held for reading. */
static pid_t ckpt_snapshot_fork_changed(struct ckpt_uncopied *un, bool unaccounted,
					struct kernel_clone_args *args)
{
	bool uncopied = ckpt_uncopied_look(un, current->mm) &&
			ckpt_uncopied_begin(un, current->mm);
	pid_t pid;

	pid = unaccounted ? ckpt_snapshot_fork_unaccounted(args) : ckpt_k(kernel_clone)(args);
	if (uncopied)
		ckpt_uncopied_end(un, current->mm);
	return pid;
}

pid_t ckpt_snapshot_fork(struct ckpt_capture *cap, const struct ckpt_object *obj,
			 struct kernel_clone_args *args)
{
	struct ckpt_uncopied un = {
		.ex = &cap->tree.excludes, .pid = obj->mm.rec->host_pid,
		.sysv = obj->mm.sysv,
	};
	bool changed = ckpt_uncopied_look(&un, current->mm);
	pid_t pid = -ENOMEM;

	if (!changed) {
		pid = ckpt_k(kernel_clone)(args);
		if (pid != -ENOMEM || obj->mm.in_use)
			return pid;
	}
	down_read(&cap->collecting);
	if (ckpt_capture_expired(cap->ctx)) {
		pid = -ETIMEDOUT;
	} else {
		if (changed)
			pid = ckpt_snapshot_fork_changed(&un, false, args);
		if (pid == -ENOMEM && !obj->mm.in_use)
			pid = ckpt_snapshot_fork_changed(&un, true, args);
	}
	up_read(&cap->collecting);
	return pid;
}
