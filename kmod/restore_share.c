// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sharing filled private pages with another process, copy on write.
 *
 * This does to one range of two existing mappings what fork's dup_mmap() does
 * to a new one: link the destination to the source's anon_vmas, copy the page
 * tables with write protection, flush the source's TLB.  The code needs the conditions that
 * dup_mmap() guarantees, and establishes them first: both mmap_locks held for writing, nothing
 * mapped in the destination's range, the same page protection and the same relation of addresses
 * to page offsets on both sides.
 *
 * A mapping of the destination stays linked to the one source mapping it was
 * linked to first: all its anon_vmas must have one root.
 */
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>

#include "compat/ksyms.h"
#include "compat/mm.h"
#include "context.h"
#include "restore.h"

#define CKPT_SHARE_SAME	(VM_ACCESS_FLAGS | VM_SHARED | VM_MAYSHARE | VM_MAYWRITE | \
			 VM_GROWSDOWN | VM_MERGEABLE)
#define CKPT_SHARE_NEVER (VM_SPECIAL | VM_HUGETLB | VM_SHARED | VM_MAYSHARE | \
			  VM_UFFD_MISSING | VM_UFFD_WP)

/* Lock both maps, in address order, so that two contexts cannot deadlock. */
static int ckpt_share_lock(struct mm_struct *a, struct mm_struct *b)
{
	if (a > b)
		swap(a, b);
	if (mmap_write_lock_killable(a))
		return -EINTR;
	mmap_write_lock_nested(b, SINGLE_DEPTH_NESTING);
	return 0;
}

/* Page offset of address 0: equal if equal addresses mean the same page in both mappings. */
static unsigned long ckpt_share_base(struct vm_area_struct *vma)
{
	return vma->vm_pgoff - (vma->vm_start >> PAGE_SHIFT);
}

static bool ckpt_share_covers(struct vm_area_struct *vma, unsigned long start,
			      unsigned long end)
{
	return vma && vma->vm_start <= start && end <= vma->vm_end;
}

static bool ckpt_share_fits(struct vm_area_struct *src, struct vm_area_struct *dst)
{
	if ((src->vm_flags | dst->vm_flags) & CKPT_SHARE_NEVER ||
	    !(dst->vm_flags & VM_MAYWRITE))
		return false;
	if ((src->vm_flags ^ dst->vm_flags) & CKPT_SHARE_SAME)
		return false;
	/* fork never copies VM_LOCKED, or pages would count as locked twice */
	if (dst->vm_flags & VM_LOCKED)
		return false;
	if (!src->vm_file != !dst->vm_file ||
	    (src->vm_file && src->vm_file->f_mapping != dst->vm_file->f_mapping))
		return false;
	return ckpt_share_base(src) == ckpt_share_base(dst) &&
	       pgprot_val(src->vm_page_prot) == pgprot_val(dst->vm_page_prot);
}

/* Is @dst linked to the anon_vma that @src's pages belong to? */
static bool ckpt_share_linked(struct vm_area_struct *dst, struct vm_area_struct *src)
{
	struct anon_vma_chain *avc;

	list_for_each_entry(avc, &dst->anon_vma_chain, same_vma)
		if (avc->anon_vma == src->anon_vma)
			return true;
	return false;
}

/* copy_page_range() copies a whole mapping: make a mapping of the range only to show it. */
static void ckpt_share_narrow(struct vm_area_struct *narrow, struct vm_area_struct *vma,
			      unsigned long start, unsigned long end)
{
	memcpy(narrow, vma, sizeof(*narrow));
	narrow->vm_start = start;
	narrow->vm_end = end;
	narrow->vm_pgoff += (start - vma->vm_start) >> PAGE_SHIFT;
}

static void ckpt_share_split(struct vm_area_struct *vma, unsigned long addr)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	unsigned long block = round_down(addr, PMD_SIZE);

	if (vma->vm_start <= block && block + PMD_SIZE <= vma->vm_end)
		ckpt_k(split_huge_pmd_address)(vma, addr, false, NULL);
#endif
}

static int ckpt_share_split_table(pmd_t *pmd, unsigned long addr, unsigned long next,
				  struct mm_walk *walk)
{
	if (!pmd_none(*pmd))
		ckpt_share_split(walk->private, addr);
	walk->action = ACTION_CONTINUE;
	return 0;
}

static const struct mm_walk_ops ckpt_share_walk_ops = {
	.pmd_entry = ckpt_share_split_table,
	CKPT_WALK_RDLOCK
};

/*
 * Split the huge pages of the source that cannot be shared as a whole: at both
 * ends of the range, and where the destination has a page table already, even an empty one:
 * copy_page_range() would put a huge page in place of that page table, and lose the table.
 */
static int ckpt_share_prepare(struct vm_area_struct *dst, struct vm_area_struct *src,
			      unsigned long start, unsigned long end)
{
	if (!IS_ALIGNED(start, PMD_SIZE))
		ckpt_share_split(src, start);
	if (!IS_ALIGNED(end, PMD_SIZE))
		ckpt_share_split(src, end);
	return ckpt_k(walk_page_range)(dst->vm_mm, start, end, &ckpt_share_walk_ops, src);
}

static int ckpt_share_copy(struct vm_area_struct *dst, struct vm_area_struct *src,
			   unsigned long start, unsigned long end)
{
	struct vm_area_struct narrow_src, narrow_dst;
	int err;

	err = ckpt_share_prepare(dst, src, start, end);
	if (err)
		return err;
	ckpt_share_narrow(&narrow_src, src, start, end);
	ckpt_share_narrow(&narrow_dst, dst, start, end);
	err = ckpt_k(copy_page_range)(&narrow_dst, &narrow_src);
	ckpt_k(flush_tlb_mm_range)(src->vm_mm, start, end, PAGE_SHIFT, true);
	if (err)
		ckpt_k(zap_page_range_single)(dst, start, end - start, NULL);
	return err;
}

static int ckpt_share_locked(struct mm_struct *dst_mm, struct mm_struct *src_mm,
			     unsigned long start, unsigned long end)
{
	struct vm_area_struct *src = find_vma(src_mm, start);
	struct vm_area_struct *dst = find_vma(dst_mm, start);
	int err;

	if (!ckpt_share_covers(src, start, end) || !ckpt_share_covers(dst, start, end) ||
	    !ckpt_share_fits(src, dst))
		return -EINVAL;
	if (!src->anon_vma)
		return 0;
	vma_start_write(src);
	vma_start_write(dst);
	if (dst->anon_vma && !ckpt_share_linked(dst, src))
		return -EINVAL;
	/* drop pages of the file, or of zeros, that somebody has looked at */
	ckpt_k(zap_page_range_single)(dst, start, end - start, NULL);
	if (!dst->anon_vma) {
		err = ckpt_k(anon_vma_fork)(dst, src);
		if (err)
			return err;
	}
	return ckpt_share_copy(dst, src, start, end);
}

int ckpt_restore_pages_share(struct ckpt_ctx *ctx, struct ckpt_pages_share *arg)
{
	struct mm_struct *src, *dst;
	int err;

	if (!ckpt_range_ok(arg->start, arg->end))
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	src = ckpt_restore_get_mm(ctx, arg->src_pid);
	if (IS_ERR(src))
		return PTR_ERR(src);
	dst = ckpt_restore_get_mm(ctx, arg->dst_pid);
	if (IS_ERR(dst)) {
		err = PTR_ERR(dst);
		goto put_src;
	}
	err = -EINVAL;
	if (src == dst)
		goto put_dst;
	err = ckpt_share_lock(src, dst);
	if (err)
		goto put_dst;
	err = ckpt_share_locked(dst, src, arg->start, arg->end);
	mmap_write_unlock(dst);
	mmap_write_unlock(src);
put_dst:
	mmput(dst);
put_src:
	mmput(src);
	return err;
}
