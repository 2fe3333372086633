// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filling memory of a restored process with data: write, copy from a kept snapshot, and drop.
 *
 * The caller copies straight into the target's pages.  A forced write fault (FOLL_FORCE) gives us
 * these pages whatever their protection is, and copies private pages first, as for a debugger.
 * Shared mappings without write permission cannot be written; user space fills their file
 * instead.
 *
 * A fault may make a huge page where the kernel's settings allow it.  A huge page is wanted if the
 * data covers most of it, and ruinous if the data covers a page here and there: huge pages are
 * disabled on the map while such blocks are faulted in.  Only the ranges of one call are looked
 * at, unless the caller says that more calls follow.
 *
 * A snapshot has the same data as the image, and nobody changes it. Its pages are held while those
 * of the target are faulted in, so only one mmap_lock is taken at a time.
 *
 * Several calls may write at the same time, also to one map: a call changes only its own data,
 * except for that switch, which has a lock.  Copying takes no lock.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagewalk.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/ksyms.h"
#include "compat/mm.h"
#include "context.h"
#include "restore.h"

#define CKPT_IOV_MAX	1024
#define CKPT_BLOCK	(CKPT_FILL_BATCH * PAGE_SIZE)

static_assert(CKPT_BLOCK == PMD_SIZE);

struct ckpt_fill {
	struct mm_struct *mm;
	struct rw_semaphore *fault_lock;
	struct page **pages;	/* CKPT_FILL_BATCH pages of the target */
	unsigned int nr_refs;	/* first pages with a reference; the rest share a huge page */
	const struct ckpt_iovec *iov;
	unsigned int nr_iov;
	const void __user *buf;
	struct mm_struct *snapshot;	/* to copy from in place of @buf; NULL: none */
	struct page **src;		/* CKPT_FILL_BATCH pages of the snapshot */
	unsigned int nr_src;
	u64 done;
	unsigned long block;	/* the huge page sized block being written; ~0: none */
	bool huge;		/* that block may become a huge page */
	bool dense;
};

/* Bytes of iov[i] and those after it, in order, that lie in the block at @block. */
static u64 ckpt_fill_cover(const struct ckpt_fill *fill, unsigned int i,
			   unsigned long block)
{
	u64 from, to, floor = block, bytes = 0;

	for (; i < fill->nr_iov; i++) {
		from = max(fill->iov[i].addr, floor);
		to = min_t(u64, fill->iov[i].addr + fill->iov[i].len,
			   block + CKPT_BLOCK);
		if (fill->iov[i].addr >= block + CKPT_BLOCK || from >= to)
			break;
		bytes += to - from;
		floor = to;
	}
	return bytes;
}

static void ckpt_fill_enter_block(struct ckpt_fill *fill, unsigned int i,
				  unsigned long addr)
{
	unsigned long block = round_down(addr, CKPT_BLOCK);

	if (block == fill->block)
		return;
	fill->block = block;
	fill->huge = fill->dense || ckpt_fill_cover(fill, i, block) >= CKPT_BLOCK / 2;
}

/* Take all pages of the range if its first page is part of a huge page that is mapped here. */
static int ckpt_fill_look(pmd_t *pmdp, unsigned long addr, unsigned long next,
			  struct mm_walk *walk)
{
	struct ckpt_fill *fill = walk->private;
	unsigned int nr = (next - addr) >> PAGE_SHIFT, i;
	spinlock_t *ptl = pmd_lock(walk->mm, pmdp);
	bool same = pmd_present(*pmdp) && pmd_trans_huge(*pmdp) && pmd_write(*pmdp) &&
		    pmd_page(*pmdp) + ((addr & ~PMD_MASK) >> PAGE_SHIFT) == fill->pages[0];

	spin_unlock(ptl);
	walk->action = ACTION_CONTINUE;
	for (i = 1; same && i < nr; i++)
		fill->pages[i] = fill->pages[0] + i;
	return same;
}

static const struct mm_walk_ops ckpt_fill_walk_ops = {
	.pmd_entry = ckpt_fill_look,
	CKPT_WALK_RDLOCK
};

/*
 * Fault pages in. A reference on one page of a huge page keeps the whole huge page, so its other
 * pages need not be looked up one by one, as some kernels do.
 */
static long ckpt_fill_fault_in(struct ckpt_fill *fill, unsigned long addr, unsigned long nr)
{
	unsigned long end = addr + (nr << PAGE_SHIFT);
	unsigned int flags = FOLL_WRITE | FOLL_FORCE;
	int locked = 1;
	long got, more;

	if (mmap_read_lock_killable(fill->mm))
		return -EINTR;
	got = ckpt_gup_remote(fill->mm, addr, fill->huge ? 1 : nr, flags, fill->pages, &locked);
	fill->nr_refs = max(got, 0L);
	if (got == 1 && nr > 1 && locked) {
		if (ckpt_k(walk_page_range)(fill->mm, addr, end, &ckpt_fill_walk_ops, fill) == 1) {
			got = nr;
		} else {
			more = ckpt_gup_remote(fill->mm, addr + PAGE_SIZE, nr - 1, flags,
					       fill->pages + 1, &locked);
			fill->nr_refs += max(more, 0L);
			got = fill->nr_refs;
		}
	}
	if (locked)
		mmap_read_unlock(fill->mm);
	return got ? got : -EFAULT;
}

/* As ckpt_fill_fault_in(), without making a huge page. */
static long ckpt_fill_fault_in_small(struct ckpt_fill *fill, unsigned long addr,
				     unsigned long nr)
{
	bool no_thp = test_and_set_bit(MMF_DISABLE_THP, &fill->mm->flags);
	long got = ckpt_fill_fault_in(fill, addr, nr);

	if (!no_thp)
		clear_bit(MMF_DISABLE_THP, &fill->mm->flags);
	return got;
}

/* Get up to @nr pages of the target into fill->pages; their number, or -errno. */
static long ckpt_fill_get_pages(struct ckpt_fill *fill, unsigned long addr,
				unsigned long nr)
{
	long got;

	if (fill->huge) {
		if (down_read_killable(fill->fault_lock))
			return -EINTR;
		got = ckpt_fill_fault_in(fill, addr, nr);
		up_read(fill->fault_lock);
	} else {
		if (down_write_killable(fill->fault_lock))
			return -EINTR;
		got = ckpt_fill_fault_in_small(fill, addr, nr);
		up_write(fill->fault_lock);
	}
	return got;
}

static bool ckpt_fill_page(const struct ckpt_fill *fill, unsigned int i)
{
	void *to = page_address(fill->pages[i]);

	if (!fill->snapshot)
		return !copy_from_user(to, fill->buf + fill->done + i * PAGE_SIZE, PAGE_SIZE);
	if (i >= fill->nr_src)
		return false;
	copy_page(to, page_address(fill->src[i]));
	return true;
}

/* Copy into @nr pages and release them; returns the number of whole pages copied. */
static unsigned int ckpt_fill_copy(struct ckpt_fill *fill, unsigned int nr)
{
	unsigned int good, i;

	/* this module is 64-bit only: every page has an address */
	for (good = 0; good < nr && ckpt_fill_page(fill, good); good++)
		;
	fill->done += good * PAGE_SIZE;
	/* as access_process_vm() does: reclaim may have cleaned the pages since the fault */
	for (i = 0; i < nr; i++)
		if (!i || page_folio(fill->pages[i]) != page_folio(fill->pages[i - 1]))
			set_page_dirty_lock(fill->pages[i]);
	for (i = 0; i < fill->nr_refs; i++)
		put_page(fill->pages[i]);
	return good;
}

/*
 * Hold up to @nr pages of the snapshot, as far as it has them; their number, or -errno. A page that
 * the snapshot has not would read as zeros, but nobody has said that it is one of zeros.
 */
static long ckpt_fill_hold(struct ckpt_fill *fill, unsigned long addr, unsigned long nr)
{
	struct mm_struct *mm = fill->snapshot;
	long got;

	fill->nr_src = 0;
	if (!mm)
		return nr;
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	got = ckpt_get_user_pages_remote(mm, addr, nr, FOLL_FORCE | FOLL_DUMP, fill->src);
	mmap_read_unlock(mm);
	fill->nr_src = max(got, 0L);
	/* the OOM killer may have emptied it (pages.c) */
	if (test_bit(MMF_UNSTABLE, &mm->flags) || !got)
		got = -ENODATA;
	return got < 0 ? -ENODATA : got;
}

static void ckpt_fill_unhold(struct ckpt_fill *fill)
{
	while (fill->nr_src)
		put_page(fill->src[--fill->nr_src]);
}

/* Write a batch of pages, not beyond the block. Returns the bytes written, or -errno. */
static long ckpt_fill_batch(struct ckpt_fill *fill, unsigned long addr, u64 len)
{
	unsigned long nr = min_t(u64, len, fill->block + CKPT_BLOCK - addr) >> PAGE_SHIFT;
	long got = ckpt_fill_hold(fill, addr, nr);

	if (got > 0)
		got = ckpt_fill_get_pages(fill, addr, got);
	if (got > 0 && ckpt_fill_copy(fill, got) != got)
		got = -EFAULT;
	ckpt_fill_unhold(fill);
	return got < 0 ? got : got << PAGE_SHIFT;
}

static int ckpt_fill_run(struct ckpt_fill *fill)
{
	unsigned int i;
	long got;

	for (i = 0; i < fill->nr_iov; i++) {
		unsigned long addr = fill->iov[i].addr;
		u64 len = fill->iov[i].len;

		for (; len; addr += got, len -= got) {
			if (fatal_signal_pending(current))
				return -EINTR;
			ckpt_fill_enter_block(fill, i, addr);
			got = ckpt_fill_batch(fill, addr, len);
			if (got < 0)
				return got;
			cond_resched();
		}
	}
	return 0;
}

static int ckpt_fill_check(const struct ckpt_iovec *iov, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (iov[i].len > TASK_SIZE_MAX || iov[i].addr > TASK_SIZE_MAX ||
		    !ckpt_range_ok(iov[i].addr, iov[i].addr + iov[i].len))
			return -EINVAL;
	return 0;
}

/* Find the snapshot of the map, if the command wants one, and fill. */
static int ckpt_fill_map(struct ckpt_ctx *ctx, struct ckpt_fill *fill, bool kept)
{
	const struct ckpt_restore_kept *entry;
	int err = -ENOMEM;

	if (kept) {
		entry = ckpt_restore_kept(ctx->restore, fill->mm);
		if (!entry || !entry->snapshot)
			return -ENODATA;
		fill->snapshot = entry->snapshot;
		fill->src = kmalloc_array(CKPT_FILL_BATCH, sizeof(*fill->src),
					  GFP_KERNEL_ACCOUNT);
		if (!fill->src)
			return -ENOMEM;
	}
	fill->fault_lock = &ctx->restore->fault_locks[hash_ptr(fill->mm, CKPT_FAULT_LOCK_BITS)];
	fill->block = ~0UL;
	fill->pages = kmalloc_array(CKPT_FILL_BATCH, sizeof(*fill->pages), GFP_KERNEL_ACCOUNT);
	if (fill->pages)
		err = ckpt_fill_run(fill);
	kfree(fill->pages);
	kfree(fill->src);
	return err;
}

/* Fill the ranges of @uiov in the map of @pid. */
static int ckpt_fill_ranges(struct ckpt_ctx *ctx, struct ckpt_fill *fill, pid_t pid, u64 uiov,
			    bool kept)
{
	struct ckpt_iovec *iov;
	int err;

	if (!fill->nr_iov || fill->nr_iov > CKPT_IOV_MAX)
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	iov = memdup_user(u64_to_user_ptr(uiov), array_size(fill->nr_iov, sizeof(*iov)));
	if (IS_ERR(iov))
		return PTR_ERR(iov);
	fill->iov = iov;
	err = ckpt_fill_check(iov, fill->nr_iov);
	if (!err) {
		fill->mm = ckpt_restore_get_mm(ctx, pid);
		err = PTR_ERR_OR_ZERO(fill->mm);
	}
	if (!err) {
		err = ckpt_fill_map(ctx, fill, kept);
		mmput(fill->mm);
	}
	kfree(iov);
	return err;
}

int ckpt_restore_pages_write(struct ckpt_ctx *ctx, struct ckpt_pages *arg)
{
	struct ckpt_fill fill = {
		.nr_iov = arg->nr_iov,
		.buf = u64_to_user_ptr(arg->buf),
		.dense = arg->flags & CKPT_PAGES_DENSE,
	};
	int err = -EINVAL;

	if (!(arg->flags & ~CKPT_PAGES_DENSE))
		err = ckpt_fill_ranges(ctx, &fill, arg->mm_id, arg->iov, false);
	arg->done = fill.done;
	return err;
}

int ckpt_restore_l0_copy(struct ckpt_ctx *ctx, struct ckpt_l0_copy *arg)
{
	struct ckpt_fill fill = { .nr_iov = arg->nr_iov };
	int err = ckpt_fill_ranges(ctx, &fill, arg->pid, arg->iov, true);

	arg->done = fill.done;
	return err;
}

int ckpt_restore_pages_drop(struct ckpt_ctx *ctx, struct ckpt_pages_drop *arg)
{
	struct mm_struct *mm;
	int err;

	if (arg->pad || !ckpt_range_ok(arg->start, arg->end))
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	mm = ckpt_restore_get_mm(ctx, arg->pid);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	err = ckpt_k(do_madvise)(mm, arg->start, arg->end - arg->start,
				 MADV_DONTNEED_LOCKED);
	mmput(mm);
	return err;
}
