// SPDX-License-Identifier: GPL-2.0-only
/*
 * The map of a kept snapshot: trimming it, and counting what it holds alone; see l0.h.
 *
 * Owns no state. Nobody runs in such a map, and nothing of it is written, so both work on it while
 * others copy pages from it.
 */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/percpu_counter.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/workqueue.h>

#include "compat/ksyms.h"
#include "compat/mm.h"
#include "l0.h"

/* --------------------------------------------------------------- counting */

struct ckpt_l0_walk {
	const enum ckpt_l0_why *why;
	u64 pages;
};

static unsigned int ckpt_l0_mapped(struct page *page, unsigned int nr)
{
	unsigned int alone = 0;

	if (!PageAnon(page))
		return 0;
	for (; nr; nr--, page++)
		alone += ckpt_page_mapcount(page) == 1;
	return alone;
}

/* A page in swap that nobody else has an entry for; the lock of the page table keeps the entry. */
static bool ckpt_l0_swapped(pte_t pte)
{
#ifdef CONFIG_SWAP
	swp_entry_t entry = pte_to_swp_entry(pte);

	return !non_swap_entry(entry) && ckpt_k(__swap_count)(entry) == 1;
#else
	return false;
#endif
}

static int ckpt_l0_walk_test(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	return !walk->vma->anon_vma || is_vm_hugetlb_page(walk->vma);
}

static int ckpt_l0_walk_pmd(pmd_t *pmdp, unsigned long addr, unsigned long end,
			    struct mm_walk *walk)
{
	struct ckpt_l0_walk *lw = walk->private;
	spinlock_t *ptl;
	pmd_t pmd;

	cond_resched();
	if (READ_ONCE(*lw->why) != CKPT_L0_KEPT)
		return 1;
	pmd = READ_ONCE(*pmdp);
	if (!pmd_trans_huge(pmd) && !is_swap_pmd(pmd))
		return 0;	/* a page table: on to its entries */
	ptl = pmd_lock(walk->mm, pmdp);
	pmd = *pmdp;
	if (pmd_trans_huge(pmd))
		lw->pages += ckpt_l0_mapped(pmd_page(pmd), HPAGE_PMD_NR);
	if (pmd_trans_huge(pmd) || is_swap_pmd(pmd))
		walk->action = ACTION_CONTINUE;
	else if (!pmd_none(pmd))
		walk->action = ACTION_AGAIN;	/* the huge page was split meanwhile */
	spin_unlock(ptl);
	return 0;
}

static int ckpt_l0_walk_pte(pte_t *ptep, unsigned long addr, unsigned long end,
			    struct mm_walk *walk)
{
	struct ckpt_l0_walk *lw = walk->private;
	pte_t pte = READ_ONCE(*ptep);

	if (pte_present(pte))
		lw->pages += pte_special(pte) ? 0 : ckpt_l0_mapped(pte_page(pte), 1);
	else if (!pte_none(pte))
		lw->pages += ckpt_l0_swapped(pte);
	return 0;
}

static const struct mm_walk_ops ckpt_l0_walk_ops = {
	.test_walk = ckpt_l0_walk_test,
	.pmd_entry = ckpt_l0_walk_pmd,
	.pte_entry = ckpt_l0_walk_pte,
	CKPT_WALK_RDLOCK
};

u64 ckpt_l0_alone(struct mm_struct *snapshot, const enum ckpt_l0_why *why)
{
	struct ckpt_l0_walk lw = { .why = why };

	mmap_read_lock(snapshot);
	ckpt_k(walk_page_range)(snapshot, 0, TASK_SIZE_MAX, &ckpt_l0_walk_ops, &lw);
	mmap_read_unlock(snapshot);
	return (lw.pages << PAGE_SHIFT) + mm_pgtables_bytes(snapshot);
}

/* --------------------------------------------------------------- trimming */

struct ckpt_l0_trim {
	struct work_struct work;
	struct mm_struct *mm;
};

/*
 * Leave only what a rollback copies: private mappings with pages of their own. Others would hold
 * files open, with their locks and seals, that the job has let go of long since. Nor is the
 * snapshot accounted: nobody will write to it, so it never needs the memory that fork promised.
 */
static void ckpt_l0_trim_work(struct work_struct *work)
{
	struct mm_struct *mm = container_of(work, struct ckpt_l0_trim, work)->mm;
	unsigned long start, end = 0;
	struct vm_area_struct *vma;
	bool drop;

	kthread_use_mm(mm);	/* some kernels count what is unmapped in the map of current */
	do {
		mmap_write_lock(mm);
		vma = find_vma(mm, end);
		drop = vma && (!vma->anon_vma || vma->vm_flags & (VM_SHARED | VM_MAYSHARE));
		if (vma) {
			start = vma->vm_start;
			end = vma->vm_end;
		}
		if (vma && !drop && vma->vm_flags & VM_ACCOUNT) {
			percpu_counter_sub(ckpt_kdata.vm_committed_as, vma_pages(vma));
			ckpt_vm_flags_change(vma, 0, VM_ACCOUNT);
		}
		mmap_write_unlock(mm);
		if (drop)
			vm_munmap(start, end - start);
		cond_resched();
	} while (vma);
	kthread_unuse_mm(mm);
}

void ckpt_l0_trim(struct workqueue_struct *wq, struct mm_struct *mm)
{
	struct ckpt_l0_trim trim = { .mm = mm };

	INIT_WORK_ONSTACK(&trim.work, ckpt_l0_trim_work);
	queue_work(wq, &trim.work);
	flush_work(&trim.work);
	destroy_work_on_stack(&trim.work);
}
