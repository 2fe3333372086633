// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading memory: which pages hold data, and the data.
 *
 * Both work on the map of a snapshot or, live, on that of a frozen process.  Pages are looked up
 * in batches with the map locked, and copied to the caller after the lock is dropped, since
 * copying may fault and wait for the caller's own memory.
 *
 * The identity of a page (its cookie) is its frame number, or its place in swap.  The cookie is a
 * hint: a page that moves in memory, or out of it, gets another cookie, and another page may take
 * its old frame.  So a caller that finds equal cookies must compare the pages.  A page has a
 * cookie only where another map of the tree can have the same page, that is, where the anon_vmas
 * have a common root.
 */
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/rmap.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>

#include "capture.h"
#include "compat/ksyms.h"
#include "compat/mm.h"
#include "context.h"
#include "objects.h"
#include "thread.h"
#include "track.h"

#define CKPT_PAGES_BATCH	512
#define CKPT_MAX_RUNS		8192	/* in one call; the caller calls again */
#define CKPT_MAX_IOV		1024
#define CKPT_COOKIE_SWAP	(1ULL << 62)

/* ---------------------------------------------------------- which map to read */

/*
 * A snapshot is readable from the clone until it is dropped.  A live map is readable while the
 * tree is frozen; the map of a stopped process is readable until it is dropped.  A kept snapshot
 * (l0.h) is there once it was found, and only its page map is asked for.
 */
static int ckpt_pages_map(struct ckpt_ctx *ctx, u32 mm_id, u32 flags,
			  struct mm_struct **ret_mm)
{
	struct ckpt_capture *cap = ctx->capture;
	struct ckpt_object *obj;
	struct mm_struct *mm;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_THAWED);
	if (err)
		return err;
	obj = ckpt_object_by_id(&cap->objects, CKPT_OBJ_MM, mm_id);
	if (!obj)
		return -ENOENT;
	if (READ_ONCE(cap->lost))
		return -ENOMEM;
	if (flags & CKPT_PAGES_KEPT && flags & CKPT_PAGES_LIVE)
		return -EINVAL;
	mm = flags & CKPT_PAGES_KEPT ? obj->mm.kept :
	     flags & CKPT_PAGES_LIVE ? obj->mm.mm : obj->mm.snapshot;
	if (!mm)
		return -EBADFD;
	mmget(mm);
	*ret_mm = mm;
	return 0;
}

/*
 * Has the OOM killer begun to empty the map?  It may do so for a killed process, whoever else holds
 * the map.  It sets the flag before it takes the first page, so a reader that asks after having
 * read knows whether it saw all pages.
 */
static bool ckpt_pages_reaped(const struct mm_struct *mm)
{
	return test_bit(MMF_UNSTABLE, &mm->flags);
}

/*
 * Was the live map read while its process was being killed?  A dying process writes to its memory
 * (clear_child_tid, robust futexes), but announces its death first: a reader that asks after
 * having read knows that it saw no such write.  The same holds for the exec of a thread left
 * out, until the other threads are gone.
 */
static bool ckpt_pages_left(struct ckpt_ctx *ctx, const struct ckpt_object *obj, u32 flags)
{
	struct signal_struct *signal = obj->task->signal;

	if (!(flags & CKPT_PAGES_LIVE))
		return false;
	smp_rmb();	/* the reads of memory come before the reads of the flags */
	if (READ_ONCE(signal->flags) & SIGNAL_GROUP_EXIT || READ_ONCE(signal->group_exec_task))
		return true;
	return !ckpt_thread_find(ctx, obj->task);
}

/*
 * The result of a reading that ended with @err.  If the maximum pause has ended the freeze, that is
 * the cause of any failure: memory changes again, and processes end.  The phase tells it before the
 * first thread is let go.
 */
static int ckpt_pages_result(struct ckpt_ctx *ctx, const struct ckpt_object *obj, u32 flags,
			     int err)
{
	if (!err && ckpt_pages_left(ctx, obj, flags))
		err = -ESRCH;
	return err && ckpt_capture_expired(ctx) ? -ETIMEDOUT : err;
}

/* Must the reader give up? */
static int ckpt_pages_interrupted(struct ckpt_ctx *ctx)
{
	if (ckpt_capture_expired(ctx))
		return -ETIMEDOUT;
	if (READ_ONCE(ctx->capture->lost))
		return -ENOMEM;
	if (fatal_signal_pending(current))
		return -EINTR;
	cond_resched();
	return 0;
}

/* -------------------------------------------------------------------- pagemap */

struct ckpt_page_walk {
	struct ckpt_capture *cap;
	struct ckpt_page_run *runs;
	unsigned int nr;
	unsigned int max;
	unsigned long next;	/* where to go on when the runs are full */
	bool kept;		/* of a kept snapshot: only pages that can be copied count */
	bool shared;		/* the mapping's pages may be in other maps */
	bool tracked;		/* the map's soft-dirty bits tell the writes since its base */
	bool believed;		/* the bits of the current mapping tell them, too */
};

static bool ckpt_run_continues(const struct ckpt_page_run *run, unsigned long addr,
			       u32 flags, u64 cookie)
{
	if (run->start + ((u64)run->nr_pages << PAGE_SHIFT) != addr || run->flags != flags)
		return false;
	return !(flags & CKPT_RUN_SHARED) || run->cookie + run->nr_pages == cookie;
}

/* Add pages to the runs; returns 1, which ends the walk, if there is no room. */
static int ckpt_run_add(struct ckpt_page_walk *pw, unsigned long addr, u32 nr_pages,
			u32 flags, u64 cookie)
{
	struct ckpt_page_run *run = pw->nr ? &pw->runs[pw->nr - 1] : NULL;

	if (pw->shared)
		flags |= CKPT_RUN_SHARED;
	if (run && run->nr_pages < U32_MAX - nr_pages &&
	    ckpt_run_continues(run, addr, flags, cookie)) {
		run->nr_pages += nr_pages;
		return 0;
	}
	if (pw->nr == pw->max) {
		pw->next = addr;
		return 1;
	}
	run = &pw->runs[pw->nr++];
	run->start = addr;
	run->nr_pages = nr_pages;
	run->flags = flags;
	run->cookie = flags & CKPT_RUN_SHARED ? cookie : 0;
	return 0;
}

/*
 * A page whose bit is clear was not written, with two exceptions. No page that can be clean is
 * exclusive, so an exclusive one came there without a write fault (KSM, a forced write). A page
 * that was given back (MADV_FREE) may become one of zeros at any time.
 */
static u32 ckpt_run_clean(const struct ckpt_page_walk *pw, struct page *page, bool dirty)
{
	return pw->believed && !dirty && !PageAnonExclusive(page) &&
	       folio_test_swapbacked(page_folio(page)) ? CKPT_RUN_CLEAN : 0;
}

/* Let the walk visit only mappings that can hold pages of their own. */
static int ckpt_walk_test(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	struct ckpt_page_walk *pw = walk->private;
	struct vm_area_struct *vma = walk->vma;
	struct ckpt_object *root;

	if (vma->vm_flags & (VM_SHARED | VM_IO | VM_PFNMAP))
		return 1;
	pw->shared = false;
	pw->believed = false;
	if (is_vm_hugetlb_page(vma))
		return 0;
	if (!vma->anon_vma)
		return 1;
	root = ckpt_object_find(&pw->cap->objects, CKPT_OBJ_ANON_ROOT, vma->anon_vma->root,
				NULL);
	pw->shared = root && root->anon.shared && !pw->kept;
	pw->believed = pw->tracked && ckpt_track_believes(vma);
	return 0;
}

static int ckpt_walk_pmd(pmd_t *pmdp, unsigned long addr, unsigned long end,
			 struct mm_walk *walk)
{
	struct ckpt_page_walk *pw = walk->private;
	spinlock_t *ptl;
	pmd_t pmd;
	int ret;

	ret = ckpt_pages_interrupted(pw->cap->ctx);
	if (ret)
		return ret;
	pmd = READ_ONCE(*pmdp);
	if (!pmd_trans_huge(pmd) && !is_swap_pmd(pmd))
		return 0;	/* a page table: on to its entries */
	ptl = pmd_lock(walk->mm, pmdp);
	pmd = *pmdp;
	if (pmd_trans_huge(pmd)) {
		struct page *page = pmd_page(pmd);

		/* the huge zero page is not anonymous */
		if (PageAnon(page))
			ret = ckpt_run_add(pw, addr, (end - addr) >> PAGE_SHIFT,
					   CKPT_RUN_ANON | CKPT_RUN_HUGE |
					   ckpt_run_clean(pw, page, pmd_soft_dirty(pmd)),
					   page_to_pfn(page) +
					   ((addr & ~PMD_MASK) >> PAGE_SHIFT));
		walk->action = ACTION_CONTINUE;
	} else if (is_swap_pmd(pmd)) {
		/* under migration */
		ret = ckpt_run_add(pw, addr, (end - addr) >> PAGE_SHIFT,
				   CKPT_RUN_ANON | CKPT_RUN_HUGE,
				   CKPT_COOKIE_SWAP | addr >> PAGE_SHIFT);
		walk->action = ACTION_CONTINUE;
	} else if (!pmd_none(pmd)) {
		walk->action = ACTION_AGAIN;	/* the huge page was split meanwhile */
	}
	spin_unlock(ptl);
	return ret;
}

/*
 * Unmapped pages of an anonymous mapping read as zeros, so the zero page is not recorded there. In
 * a private mapping of a file it is: KSM puts it in place of a page that the process has filled
 * with zeros.
 */
static int ckpt_walk_zero(struct ckpt_page_walk *pw, struct vm_area_struct *vma,
			  unsigned long addr, pte_t pte)
{
	if (pw->kept || vma_is_anonymous(vma) || !is_zero_pfn(pte_pfn(pte)))
		return 0;
	return ckpt_run_add(pw, addr, 1, CKPT_RUN_ANON, pte_pfn(pte));
}

static int ckpt_walk_pte(pte_t *ptep, unsigned long addr, unsigned long end,
			 struct mm_walk *walk)
{
	struct ckpt_page_walk *pw = walk->private;
	pte_t pte = *ptep;
	swp_entry_t entry;
	struct page *page;

	if (pte_none(pte))
		return 0;
	if (pte_present(pte)) {
		if (pte_special(pte))
			return ckpt_walk_zero(pw, walk->vma, addr, pte);
		page = pte_page(pte);
		return PageAnon(page) ? ckpt_run_add(pw, addr, 1, CKPT_RUN_ANON |
						     ckpt_run_clean(pw, page, pte_soft_dirty(pte)),
						     page_to_pfn(page)) : 0;
	}
	entry = pte_to_swp_entry(pte);
	if (!non_swap_entry(entry))
		return ckpt_run_add(pw, addr, 1, CKPT_RUN_ANON, CKPT_COOKIE_SWAP | entry.val);
	if (is_migration_entry(entry) || is_device_private_entry(entry)) {
		page = pfn_swap_entry_to_page(entry);
		return PageAnon(page) ? ckpt_run_add(pw, addr, 1, CKPT_RUN_ANON,
						     page_to_pfn(page)) : 0;
	}
	if (pw->kept || ckpt_is_marker(entry))	/* a marker without a page */
		return 0;
	/* record a lost page as well: reading it reports the loss */
	return ckpt_run_add(pw, addr, 1, CKPT_RUN_ANON, CKPT_COOKIE_SWAP | entry.val);
}

static int ckpt_walk_hugetlb(pte_t *ptep, unsigned long hmask, unsigned long addr,
			     unsigned long end, struct mm_walk *walk)
{
	struct ckpt_page_walk *pw = walk->private;
	pte_t pte = ckpt_huge_ptep_get(walk->mm, addr, ptep);
	struct page *page;

	if (huge_pte_none(pte))
		return 0;
	if (!pte_present(pte))		/* under migration, or poisoned */
		return ckpt_run_add(pw, addr, (end - addr) >> PAGE_SHIFT,
				    CKPT_RUN_ANON | CKPT_RUN_HUGE,
				    CKPT_COOKIE_SWAP | pte_to_swp_entry(pte).val);
	page = pte_page(pte);
	if (!PageAnon(page))		/* an unmodified page of the file */
		return 0;
	return ckpt_run_add(pw, addr, (end - addr) >> PAGE_SHIFT,
			    CKPT_RUN_ANON | CKPT_RUN_HUGE,
			    page_to_pfn(page) + ((addr & ~hmask) >> PAGE_SHIFT));
}

static const struct mm_walk_ops ckpt_walk_ops = {
	.test_walk = ckpt_walk_test,
	.pmd_entry = ckpt_walk_pmd,
	.pte_entry = ckpt_walk_pte,
	.hugetlb_entry = ckpt_walk_hugetlb,
};

/* Token of the snapshot that the bits of @mm count from; for a snapshot the fork has noted it. */
static u64 ckpt_pagemap_base(const struct ckpt_object *obj, struct mm_struct *mm)
{
	if (mm == obj->mm.snapshot)
		return obj->mm.base;
	if (mm == obj->mm.kept)
		return 0;
	/* if the map has a snapshot, its bits count from that snapshot on */
	return obj->mm.snapshot ? 0 : ckpt_track_base(mm);
}

static int ckpt_pagemap_walk(struct ckpt_page_walk *pw, const struct ckpt_object *obj,
			     struct mm_struct *mm, struct ckpt_pagemap *arg)
{
	const struct ckpt_excludes *ex = &pw->cap->tree.excludes;
	unsigned long start = arg->start, end = arg->end;
	pid_t pid = obj->mm.rec->host_pid;
	int ret;

	ret = mmap_read_lock_killable(mm);
	if (ret)
		return ret;
	arg->base = ckpt_pagemap_base(obj, mm);
	pw->tracked = arg->base;
	pw->next = end;
	while (start < end) {
		const struct ckpt_exclude *e = ckpt_excludes_next(ex, pid, start);
		unsigned long part_end = e ? min_t(u64, e->start, end) : end;

		if (start < part_end)
			ret = ckpt_k(walk_page_range)(mm, start, part_end, &ckpt_walk_ops,
						      pw);
		if (ret)
			break;
		start = e ? e->end : end;
	}
	if (ckpt_pages_reaped(mm))
		ret = -ESRCH;
	mmap_read_unlock(mm);
	return ret < 0 ? ret : 0;
}

static bool ckpt_range_is_sane(u64 start, u64 end)
{
	return PAGE_ALIGNED(start) && PAGE_ALIGNED(end) && start < end && end <= TASK_SIZE_MAX;
}

int ckpt_capture_pagemap(struct ckpt_ctx *ctx, struct ckpt_pagemap *arg)
{
	struct ckpt_page_walk pw = { .cap = ctx->capture, .kept = arg->flags & CKPT_PAGES_KEPT };
	struct ckpt_object *obj;
	struct mm_struct *mm;
	int err;

	err = ckpt_pages_map(ctx, arg->mm_id, arg->flags, &mm);
	if (err)
		return err;
	err = -EINVAL;
	if (!ckpt_range_is_sane(arg->start, arg->end) || !arg->nr_runs)
		goto out_mm;
	pw.max = min_t(u32, arg->nr_runs, CKPT_MAX_RUNS);
	pw.runs = kvmalloc_array(pw.max, sizeof(*pw.runs), GFP_KERNEL);
	err = -ENOMEM;
	if (!pw.runs)
		goto out_mm;
	obj = ckpt_object_by_id(&ctx->capture->objects, CKPT_OBJ_MM, arg->mm_id);
	err = ckpt_pagemap_walk(&pw, obj, mm, arg);
	if (!err)
		err = ckpt_pages_interrupted(ctx);
	err = ckpt_pages_result(ctx, obj, arg->flags, err);
	if (err)
		goto out_runs;
	err = -EFAULT;
	if (copy_to_user(u64_to_user_ptr(arg->runs), pw.runs, pw.nr * sizeof(*pw.runs)))
		goto out_runs;
	arg->nr_runs = pw.nr;
	arg->start = pw.next;
	arg->token = mm == obj->mm.snapshot ? obj->mm.token : 0;
	err = 0;
out_runs:
	kvfree(pw.runs);
out_mm:
	mmput(mm);
	return err;
}

/* ----------------------------------------------------------------- page data */

/* Copy @nr pages; neighbours within one folio are copied at once. */
static int ckpt_pages_copy(struct page **pages, unsigned int nr, void __user *buf)
{
	unsigned int i = 0, n;

	while (i < nr) {
		struct folio *folio = page_folio(pages[i]);
		void *from;
		int err;

		for (n = 1; i + n < nr && pages[i + n] == pages[i] + n &&
		     page_folio(pages[i + n]) == folio; n++)
			;
		from = kmap_local_page(pages[i]);
		err = copy_to_user(buf, from, (size_t)n << PAGE_SHIFT);
		kunmap_local(from);
		if (err)
			return -EFAULT;
		buf += (size_t)n << PAGE_SHIFT;
		i += n;
	}
	return 0;
}

static void ckpt_pages_release(struct page **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		put_page(pages[i]);
}

/* Pages are read whatever their protection; FOLL_FORCE does not write. */
static long ckpt_pages_get(struct mm_struct *mm, unsigned long addr, unsigned int nr,
			   struct page **pages)
{
	long got;

	got = mmap_read_lock_killable(mm);
	if (got)
		return got;
	got = ckpt_get_user_pages_remote(mm, addr, nr, FOLL_FORCE, pages);
	mmap_read_unlock(mm);
	if (ckpt_pages_reaped(mm)) {
		ckpt_pages_release(pages, max(got, 0L));
		return -ESRCH;
	}
	return got ?: -EFAULT;
}

static int ckpt_pages_read_range(struct ckpt_ctx *ctx, struct mm_struct *mm,
				 struct page **pages, const struct ckpt_iovec *iov,
				 struct ckpt_pages *arg)
{
	unsigned long addr = iov->addr, end = iov->addr + iov->len;
	int err = 0;

	while (addr < end && !err) {
		long got = min_t(unsigned long, CKPT_PAGES_BATCH, (end - addr) >> PAGE_SHIFT);

		err = ckpt_pages_interrupted(ctx);
		if (err)
			break;
		got = ckpt_pages_get(mm, addr, got, pages);
		if (got < 0)
			return got;
		err = ckpt_pages_copy(pages, got, u64_to_user_ptr(arg->buf + arg->done));
		ckpt_pages_release(pages, got);
		if (!err) {
			addr += got << PAGE_SHIFT;
			arg->done += got << PAGE_SHIFT;
		}
	}
	return err;
}

static struct ckpt_iovec *ckpt_pages_iov(const struct ckpt_pages *arg)
{
	struct ckpt_iovec *iov;
	u32 i;

	if (!arg->nr_iov || arg->nr_iov > CKPT_MAX_IOV)
		return ERR_PTR(-EINVAL);
	iov = vmemdup_user(u64_to_user_ptr(arg->iov), arg->nr_iov * sizeof(*iov));
	if (IS_ERR(iov))
		return iov;
	for (i = 0; i < arg->nr_iov; i++) {
		if (iov[i].len <= TASK_SIZE_MAX && iov[i].addr <= TASK_SIZE_MAX &&
		    ckpt_range_is_sane(iov[i].addr, iov[i].addr + iov[i].len))
			continue;
		kvfree(iov);
		return ERR_PTR(-EINVAL);
	}
	return iov;
}

int ckpt_capture_pages_read(struct ckpt_ctx *ctx, struct ckpt_pages *arg)
{
	struct ckpt_object *obj;
	struct ckpt_iovec *iov;
	struct page **pages;
	struct mm_struct *mm;
	u32 i;
	int err;

	arg->done = 0;
	err = ckpt_pages_map(ctx, arg->mm_id, arg->flags, &mm);
	if (err)
		return err;
	iov = ckpt_pages_iov(arg);
	if (IS_ERR(iov)) {
		err = PTR_ERR(iov);
		goto out_mm;
	}
	pages = kmalloc_array(CKPT_PAGES_BATCH, sizeof(*pages), GFP_KERNEL);
	if (!pages) {
		err = -ENOMEM;
		goto out_iov;
	}
	for (i = 0; i < arg->nr_iov && !err; i++)
		err = ckpt_pages_read_range(ctx, mm, pages, &iov[i], arg);
	kfree(pages);
	obj = ckpt_object_by_id(&ctx->capture->objects, CKPT_OBJ_MM, arg->mm_id);
	err = ckpt_pages_result(ctx, obj, arg->flags, err);
out_iov:
	kvfree(iov);
out_mm:
	mmput(mm);
	return err;
}
