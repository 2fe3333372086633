// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings of io_uring from their records.
 *
 * User space makes the ring, by io_uring_setup(2), and writes into its memory what it held.  Two
 * positions the kernel keeps for itself, so that it takes no entry twice; they are set here.
 *
 * A program cannot ask for the address at which a ring is mapped: the file's get_unmapped_area()
 * refuses every address, for machines whose caches mind.  Those of x86 do not, so the mapping is
 * made below that function.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>

#include "collect.h"
#include "compat/ksyms.h"
#include "compat/uring.h"
#include "restore.h"
#include "uring.h"

static int ckpt_uring_go_on(struct io_ring_ctx *ctx, const struct ckpt_rec_uring *rec)
{
	if (ctx->sq_entries != rec->sq_entries || ctx->cq_entries != rec->cq_entries ||
	    ctx->rings->sq.head != rec->sq_head || ctx->rings->cq.tail != rec->cq_tail)
		return -EINVAL;
	spin_lock(&ctx->completion_lock);
	ctx->cached_sq_head = rec->sq_head;
	ctx->cached_cq_tail = rec->cq_tail;
	/* places for completions that were taken ahead */
	ctx->cqe_cached = NULL;
	ctx->cqe_sentinel = NULL;
	spin_unlock(&ctx->completion_lock);
	return 0;
}

int ckpt_restore_uring(const struct ckpt_rec_uring *rec)
{
	struct io_ring_ctx *ctx;
	struct file *file;
	int err = -EINVAL;

	if (!ckpt_uring_is_known())
		return -EOPNOTSUPP;
	if (rec->of.nr || rec->pad)
		return -EINVAL;
	file = fget(rec->of.file);
	if (!file)
		return -EBADF;
	if (ckpt_file_is_uring(file)) {
		ctx = file->private_data;
		err = mutex_lock_killable(&ctx->uring_lock);
		if (!err) {
			err = ckpt_uring_go_on(ctx, rec);
			mutex_unlock(&ctx->uring_lock);
		}
	}
	fput(file);
	return err;
}

unsigned long ckpt_uring_mmap(struct file *file, unsigned long start, unsigned long len,
			      unsigned long prot, unsigned long pgoff)
{
	struct mm_struct *mm = current->mm;
	unsigned long ret = -EEXIST;

	if (!ckpt_file_is_uring(file) || !ckpt_uring_is_known() || prot & PROT_EXEC)
		return -EINVAL;
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	if (!find_vma_intersection(mm, start, start + len))
		ret = ckpt_k(mmap_region)(file, start, len,
					  calc_vm_prot_bits(prot, 0) | mm->def_flags |
					  VM_SHARED | VM_MAYSHARE | VM_MAYREAD | VM_MAYWRITE,
					  pgoff, NULL);
	mmap_write_unlock(mm);
	return ret;
}
