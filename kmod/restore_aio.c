// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous I/O contexts from their records.
 *
 * io_setup(2) makes the context, in a thread of the map, and mremap(2) moves the ring to where it
 * was, which gives the context its old number.  Places that rings will take are held by empty
 * mappings, as the kernel puts a new ring anywhere.  Then the unread events are written into the
 * ring, and the context is told of them as if they had just come.
 *
 * A mapping that fork had copied is made from the ring's file, which the restore remembers.
 */
#include <linux/aio_abi.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>

#include "aio.h"
#include "compat/ksyms.h"
#include "restore.h"
#include "restore_mm.h"

/* A ring that has been made. */
struct ckpt_restore_ring {
	struct list_head link;		/* ckpt_restore.rings */
	struct file *file;		/* reference */
	u32 ring;
};

void ckpt_restore_rings_free(struct ckpt_restore *restore)
{
	struct ckpt_restore_ring *ring, *next;

	list_for_each_entry_safe(ring, next, &restore->rings, link) {
		fput(ring->file);
		kfree(ring);
	}
}

int ckpt_restore_rings_note(struct ckpt_restore *restore, const struct ckpt_mm_job *job)
{
	struct ckpt_restore_ring *ring;
	unsigned int i;

	for (i = 0; i < job->nr; i++) {
		const struct ckpt_vma_item *item = &job->items[i];

		if (!item->aio || item->aio->flags & CKPT_AIO_INHERITED)
			continue;
		ring = kmalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
		if (!ring)
			return -ENOMEM;
		ring->file = get_file(item->file);
		ring->ring = item->aio->ring;
		list_add_tail(&ring->link, &restore->rings);
	}
	return 0;
}

/* ---------------------------------------------------------------- checking */

static unsigned int ckpt_aio_pages(unsigned int nr_events)
{
	return PFN_UP(ckpt_aio_event_at(nr_events));
}

static int ckpt_aio_check_context(const struct ckpt_vma_item *item, const struct ckpt_rec_aio *rec)
{
	const struct ckpt_rec_vma *vma = item->rec;

	if (!rec->nr_reqs || rec->nr_events < 2 || rec->nr_events > INT_MAX / 64 ||
	    (vma->end - vma->start) >> PAGE_SHIFT != ckpt_aio_pages(rec->nr_events) ||
	    vma->pgoff || ckpt_vma_prot(vma) != (PROT_READ | PROT_WRITE) ||
	    rec->head >= rec->nr_events || rec->tail >= rec->nr_events ||
	    rec->nr != ckpt_aio_unread(rec->head, rec->tail, rec->nr_events) ||
	    rec->nr > (rec->hdr.len - sizeof(*rec)) / sizeof(struct io_event))
		return -EINVAL;
	return 0;
}

/* Take the file of a ring that another map has by now. */
static int ckpt_aio_inherit(struct ckpt_mm_job *job, struct ckpt_vma_item *item,
			    const struct ckpt_rec_aio *rec)
{
	const struct ckpt_restore_ring *ring;

	if (rec->flags & CKPT_AIO_GONE)
		return 0;
	list_for_each_entry(ring, job->rings, link) {
		if (ring->ring == rec->ring) {
			item->file = get_file(ring->file);
			return 0;
		}
	}
	return -ENOENT;
}

int ckpt_aios_collect(struct ckpt_mm_job *job, struct ckpt_rec_stream *stream)
{
	struct ckpt_rec_stream before = *stream;
	struct ckpt_vma_item *item = job->items;
	const struct ckpt_rec_aio *rec;
	int err = 0;

	for (; !err && (rec = ckpt_rec_next(stream)) && rec->hdr.type == CKPT_REC_AIO;
	     before = *stream) {
		while (item < job->items + job->nr && item->rec->start < rec->start)
			item++;
		if (item == job->items + job->nr || item->rec->start != rec->start || item->aio ||
		    item->rec->kind != CKPT_VMA_AIO ||
		    rec->flags & ~(CKPT_AIO_INHERITED | CKPT_AIO_GONE) ||
		    rec->flags == CKPT_AIO_GONE)
			return -EINVAL;
		item->aio = rec;
		item->pos = stream->bad;
		job->nr_aios++;
		err = rec->flags ? ckpt_aio_inherit(job, item, rec) :
				   ckpt_aio_check_context(item, rec);
	}
	if (err)
		return err;
	*stream = before;
	for (item = job->items; item < job->items + job->nr; item++)
		if (item->rec->kind == CKPT_VMA_AIO && !item->aio)
			return -EINVAL;
	return job->nr_aios && !ckpt_aio_is_known() ? -EOPNOTSUPP : 0;
}

/* ------------------------------------------------------------ in the thread */

#ifdef CONFIG_AIO

static int ckpt_aio_hold_place(const struct ckpt_rec_vma *rec)
{
	unsigned long ret;

	current->mm->def_flags = VM_DONTCOPY | VM_WIPEONFORK;
	ret = vm_mmap(NULL, rec->start, rec->end - rec->start, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, 0);
	current->mm->def_flags = 0;
	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/*
 * The argument of io_setup(2) that gives a ring of @pages, or 0 if there is none.  The kernel makes
 * a ring for twice as many requests, and for four of each CPU at least.
 */
static unsigned int ckpt_aio_argument(unsigned int nr_reqs, unsigned int pages)
{
	unsigned int least = num_possible_cpus() * 4;
	unsigned int most = (pages * (PAGE_SIZE / sizeof(struct io_event)) - 3) / 2;

	if (ckpt_aio_pages(2 * max(nr_reqs, least) + 2) == pages)
		return nr_reqs;
	return least <= most ? most : 0;
}

/* Make a context; its ring is anywhere. @page: for the arguments of the call. */
static int ckpt_aio_setup(unsigned int nr_reqs, unsigned long page, unsigned long *ret_id)
{
	const struct pt_regs regs = { .di = nr_reqs, .si = page };
	unsigned long __user *id = (void __user *)page;
	long err;

	if (put_user(0UL, id))
		return -EFAULT;
	err = ckpt_k(__x64_sys_io_setup)(&regs);
	return err ? err : get_user(*ret_id, id);
}

static int ckpt_aio_move(unsigned long from, const struct ckpt_rec_vma *to)
{
	const struct pt_regs regs = {
		.di = from,
		.si = to->end - to->start,
		.dx = to->end - to->start,
		.r10 = MREMAP_MAYMOVE | MREMAP_FIXED,
		.r8 = to->start,
	};
	long ret = ckpt_k(__x64_sys_mremap)(&regs);

	return IS_ERR_VALUE(ret) ? ret : ret == to->start ? 0 : -EINVAL;
}

/* Write the unread events, and tell the context that they are there. */
static int ckpt_aio_fill(struct ckpt_kioctx *kioctx, const struct ckpt_rec_aio *rec)
{
	const struct io_event *events = (const void *)(rec + 1);
	struct ckpt_aio_ring __user *ring = (void __user *)rec->start;
	unsigned int i;

	for (i = 0; i < rec->nr; i++) {
		u64 at = ckpt_aio_event_at((rec->head + i) % rec->nr_events);

		if (copy_to_user((char __user *)ring + at, &events[i], sizeof(*events)))
			return -EFAULT;
	}
	if (put_user(rec->head, &ring->head) || put_user(rec->tail, &ring->tail))
		return -EFAULT;
	spin_lock_irq(&kioctx->completion_lock);
	kioctx->tail = rec->tail;
	kioctx->completed_events = rec->nr;
	atomic_sub(rec->nr, &kioctx->reqs_available);
	spin_unlock_irq(&kioctx->completion_lock);
	return 0;
}

/* The context with this number, with a reference, or NULL. */
static struct ckpt_kioctx *ckpt_aio_find(unsigned long id)
{
	struct ckpt_kioctx *kioctx;
	unsigned int index = 0;

	while ((kioctx = ckpt_aio_next(current->mm, &index))) {
		if (kioctx->user_id == id)
			return kioctx;
		ckpt_aio_put(kioctx);
	}
	return NULL;
}

static int ckpt_aio_make(struct ckpt_vma_item *item, unsigned long page)
{
	const struct ckpt_rec_vma *vma = item->rec;
	const struct ckpt_rec_aio *rec = item->aio;
	unsigned int nr = ckpt_aio_argument(rec->nr_reqs, ckpt_aio_pages(rec->nr_events));
	struct ckpt_kioctx *kioctx;
	unsigned long id;
	int err = -ENOSPC;	/* more CPUs than such a ring serves */

	if (nr) {
		current->mm->def_flags = ckpt_vma_def_flags(vma);
		err = ckpt_aio_setup(nr, page, &id);
		current->mm->def_flags = 0;
	}
	if (err)
		return err;
	kioctx = ckpt_aio_find(id);
	if (!kioctx)
		return -ESRCH;
	if (kioctx->nr_events != rec->nr_events)
		err = -ENOSPC;
	if (!err)
		err = ckpt_aio_move(id, vma);
	if (!err && kioctx->user_id != vma->start)
		err = -EINVAL;
	if (!err)
		err = ckpt_aio_fill(kioctx, rec);
	if (!err)
		item->file = get_file(kioctx->aio_ring_file);
	ckpt_aio_put(kioctx);
	return err;
}

static int ckpt_aio_map(const struct ckpt_vma_item *item, struct file *file)
{
	const struct ckpt_rec_vma *rec = item->rec;
	unsigned long ret;

	current->mm->def_flags = ckpt_vma_def_flags(rec);
	ret = vm_mmap(file, rec->start, rec->end - rec->start, ckpt_vma_prot(rec),
		      MAP_SHARED | MAP_FIXED, rec->pgoff << PAGE_SHIFT);
	current->mm->def_flags = 0;
	return IS_ERR_VALUE(ret) ? (int)ret : 0;
}

/* Map the ring of a context that is gone: make one, map its ring, and let it go. */
static int ckpt_aio_map_gone(const struct ckpt_vma_item *item, unsigned long page)
{
	struct pt_regs regs = {};
	struct ckpt_kioctx *kioctx;
	unsigned long id;
	int err = ckpt_aio_setup(1, page, &id), ret;

	if (err)
		return err;
	kioctx = ckpt_aio_find(id);
	err = -ESRCH;
	if (kioctx) {
		err = ckpt_aio_map(item, kioctx->aio_ring_file);
		ckpt_aio_put(kioctx);
	}
	regs.di = id;
	ret = ckpt_k(__x64_sys_io_destroy)(&regs);
	return err ? err : ret;
}

int ckpt_aios_make(struct ckpt_mm_job *job)
{
	struct ckpt_vma_item *item, *end = job->items + job->nr;
	unsigned long page;
	int err = 0;

	if (!job->nr_aios)
		return 0;
	for (item = job->items; !err && item < end; item++) {
		job->bad = item - job->items;
		if (item->aio)
			err = ckpt_aio_hold_place(item->rec);
	}
	if (err)
		return err;
	page = ckpt_scratch_map();
	if (IS_ERR_VALUE(page))
		return page;
	for (item = job->items; !err && item < end; item++) {
		job->bad = item - job->items;
		if (!item->aio)
			continue;
		if (!item->aio->flags)
			err = ckpt_aio_make(item, page);
		else if (item->aio->flags & CKPT_AIO_GONE)
			err = ckpt_aio_map_gone(item, page);
		else
			err = ckpt_aio_map(item, item->file);
		cond_resched();
	}
	return ckpt_scratch_unmap(page) ?: err;
}

int ckpt_aios_destroy(void)
{
	struct ckpt_kioctx *kioctx;
	struct pt_regs regs = {};
	unsigned int index = 0;
	int err = 0;

	while (!err && ckpt_aio_is_known() && (kioctx = ckpt_aio_next(current->mm, &index))) {
		regs.di = kioctx->user_id;
		ckpt_aio_put(kioctx);
		err = ckpt_k(__x64_sys_io_destroy)(&regs);
		/* another thread of the process, which does the same, was first */
		if (err == -EINVAL)
			err = 0;
	}
	return err;
}

#else

int ckpt_aios_make(struct ckpt_mm_job *job)
{
	return job->nr_aios ? -EOPNOTSUPP : 0;
}

int ckpt_aios_destroy(void)
{
	return 0;
}

#endif
