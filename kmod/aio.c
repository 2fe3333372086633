// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous I/O contexts of a frozen tree: their AIO records.
 *
 * A context belongs to a memory map, and its number is the address of its ring.  Frozen threads
 * submit nothing, so requests in flight become fewer: a snapshot waits a moment for the last.  The
 * ring's mapping is inherited by fork, the context is not; such a mapping is recorded with the
 * number of its ring.  The content of a ring is in the record and nowhere else in an image.
 *
 * A context that is read is held by a reference, as threads left out may end it meanwhile.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>

#include "aio.h"
#include "collect.h"
#include "compat/layout.h"
#include "context.h"
#include "records.h"

#define CKPT_AIO_WAIT_MS	500	/* for requests in flight; at most half of the pause */

bool ckpt_aio_is_known(void)
{
	return IS_ENABLED(CONFIG_AIO) && ckpt_layout_fits(CKPT_LAYOUT_KIOCTX) &&
	       ckpt_layout_fits(CKPT_LAYOUT_KIOCTX_TABLE) &&
	       ckpt_layout_fits(CKPT_LAYOUT_KIOCTX_CPU);
}

struct ckpt_kioctx *ckpt_aio_next(struct mm_struct *mm, unsigned int *index)
{
	struct ckpt_kioctx *kioctx = NULL;
#ifdef CONFIG_AIO
	const struct ckpt_kioctx_table *table;

	rcu_read_lock();
	table = (const void *)rcu_dereference(mm->ioctx_table);
	while (table && !kioctx && *index < table->nr) {
		kioctx = READ_ONCE(table->table[(*index)++]);
		if (kioctx && !percpu_ref_tryget_live(&kioctx->users))
			kioctx = NULL;
	}
	rcu_read_unlock();
#endif
	return kioctx;
}

void ckpt_aio_put(struct ckpt_kioctx *kioctx)
{
	percpu_ref_put(&kioctx->users);
}

struct ckpt_kioctx *ckpt_aio_of(struct mm_struct *mm, const struct file *file)
{
	struct ckpt_kioctx *kioctx;
	unsigned int index = 0;

	while ((kioctx = ckpt_aio_next(mm, &index))) {
		if (READ_ONCE(kioctx->aio_ring_file) == file)
			return kioctx;
		ckpt_aio_put(kioctx);
	}
	return NULL;
}

/* ---------------------------------------------------------------- in flight */

static bool ckpt_aio_is_left_out(struct ckpt_collect *c, struct ckpt_object *obj,
				 const struct ckpt_kioctx *kioctx)
{
	return ckpt_excludes_range(&c->tree->excludes, ckpt_collect_host_pid(c, obj->task),
				   kioctx->user_id, kioctx->user_id + kioctx->mmap_size) ==
	       CKPT_EXCLUDED_WHOLLY;
}

/* A place of the ring is free, or a request has it, or an event that was not reaped for long. */
static unsigned int ckpt_aio_in_flight(struct ckpt_kioctx *kioctx)
{
	unsigned int cpu, idle;

	spin_lock_irq(&kioctx->completion_lock);
	idle = atomic_read(&kioctx->reqs_available) + kioctx->completed_events;
	for_each_possible_cpu(cpu)
		idle += READ_ONCE(per_cpu_ptr(kioctx->cpu, cpu)->reqs_available);
	spin_unlock_irq(&kioctx->completion_lock);
	return kioctx->nr_events - 1 - idle;
}

static int ckpt_aio_settle(struct ckpt_collect *c, struct ckpt_object *obj,
			   struct ckpt_kioctx *kioctx, u64 until)
{
	unsigned int nr;

	while ((nr = ckpt_aio_in_flight(kioctx))) {
		if (ckpt_capture_expired(c->ctx))
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (ktime_get_ns() > until) {
			ckpt_refuse(c->cap, CKPT_R_AIO, obj->task, kioctx->user_id,
				    "%u requests in flight in context %lx", nr, kioctx->user_id);
			return 0;
		}
		usleep_range(50, 200);
	}
	return 0;
}

int ckpt_collect_aio_wait(struct ckpt_collect *c, struct ckpt_object *obj)
{
	u64 until = ktime_get_ns() + min_t(u64, CKPT_AIO_WAIT_MS * NSEC_PER_MSEC,
					   c->cap->max_pause_ns / 2);
	struct ckpt_kioctx *kioctx;
	unsigned int index = 0;
	int err = 0;

	if (!ckpt_aio_is_known())
		return 0;
	while (!err && (kioctx = ckpt_aio_next(obj->mm.mm, &index))) {
		if (!ckpt_aio_is_left_out(c, obj, kioctx))
			err = ckpt_aio_settle(c, obj, kioctx, until);
		ckpt_aio_put(kioctx);
	}
	return err;
}

/* ---------------------------------------------------------------- mappings */

/* True for the whole ring, as io_setup(2) has mapped it. */
static bool ckpt_aio_is_whole(const struct ckpt_kioctx *kioctx, const struct vm_area_struct *vma)
{
	return vma->vm_file == kioctx->aio_ring_file && vma->vm_start == kioctx->user_id &&
	       vma->vm_end - vma->vm_start == kioctx->mmap_size && !vma->vm_pgoff &&
	       (vma->vm_flags & VM_ACCESS_FLAGS) == (VM_READ | VM_WRITE);
}

void ckpt_collect_aio_check(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_kioctx *kioctx;
	unsigned int index = 0;

	if (!ckpt_aio_is_known())
		return;		/* the mapping is refused */
	while ((kioctx = ckpt_aio_next(obj->mm.mm, &index))) {
		struct vm_area_struct *vma = find_vma(obj->mm.mm, kioctx->user_id);

		if (!ckpt_aio_is_left_out(c, obj, kioctx) &&
		    !(vma && vma->vm_file && ckpt_aio_is_whole(kioctx, vma)))
			ckpt_refuse(c->cap, CKPT_R_AIO, obj->task, kioctx->user_id,
				    "the ring of context %lx is not mapped as it was",
				    kioctx->user_id);
		ckpt_aio_put(kioctx);
	}
}

/* Copy from the ring's file, whose pages are always there; false: they are not. */
static bool ckpt_aio_read(const struct file *file, u64 at, void *to, size_t len)
{
	struct page *page = find_get_page(file->f_mapping, at >> PAGE_SHIFT);
	const char *from;

	if (!page)
		return false;
	from = kmap_local_page(page);
	memcpy(to, from + offset_in_page(at), len);
	kunmap_local(from);
	put_page(page);
	return true;
}

static int ckpt_aio_collect_context(struct ckpt_collect *c, struct ckpt_object *obj,
				    struct vm_area_struct *vma, struct ckpt_kioctx *kioctx,
				    u32 ring)
{
	unsigned int room = kioctx->nr_events, tail, nr, i;
	const struct file *file = vma->vm_file;
	struct ckpt_aio_ring head = {};
	struct ckpt_rec_aio *rec;
	struct io_event *events;
	bool ok;

	spin_lock_irq(&kioctx->completion_lock);
	tail = kioctx->tail;
	spin_unlock_irq(&kioctx->completion_lock);
	ok = ckpt_aio_read(file, 0, &head, sizeof(head)) && head.head < room && tail < room &&
	     head.tail == tail && head.nr == room;
	nr = ok ? ckpt_aio_unread(head.head, tail, room) : 0;
	if (!ok || nr > CKPT_AIO_EVENTS_MAX) {
		ckpt_refuse(c->cap, CKPT_R_AIO, obj->task, kioctx->user_id,
			    ok ? "too many unread events" : "the program has changed its ring");
		nr = 0;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_AIO, sizeof(*rec) + nr * sizeof(*events));
	if (!rec)
		return -ENOMEM;
	rec->mm_id = obj->id;
	rec->start = vma->vm_start;
	rec->ring = ring;
	rec->nr_reqs = kioctx->max_reqs;
	rec->nr_events = room;
	rec->head = head.head;
	rec->tail = tail;
	rec->nr = nr;
	events = (void *)(rec + 1);
	for (i = 0; i < nr; i++)
		if (!ckpt_aio_read(file, ckpt_aio_event_at((head.head + i) % room), &events[i],
				   sizeof(*events)))
			return -EIO;
	return 0;
}

static int ckpt_aio_collect_inherited(struct ckpt_collect *c, struct ckpt_object *obj,
				      struct vm_area_struct *vma, struct ckpt_object *ring)
{
	struct ckpt_rec_aio *rec = ckpt_records_add(c->recs, CKPT_REC_AIO, sizeof(*rec));

	if (!rec)
		return -ENOMEM;
	rec->mm_id = obj->id;
	rec->start = vma->vm_start;
	rec->ring = ring->id;
	rec->flags = CKPT_AIO_INHERITED;
	if (!i_size_read(file_inode(vma->vm_file)))
		rec->flags |= CKPT_AIO_GONE;
	else if (!ring->ring.heir)
		ring->ring.heir = obj->task;
	return 0;
}

int ckpt_collect_aio(struct ckpt_collect *c, struct ckpt_object *obj, struct vm_area_struct *vma)
{
	struct ckpt_kioctx *kioctx;
	struct ckpt_object *ring;
	bool is_new;
	int err;

	if (!(c->tree->flags & CKPT_TARGET_AIO) || !ckpt_aio_is_known()) {
		ckpt_refuse(c->cap, CKPT_R_AIO, obj->task, vma->vm_start, "%lx-%lx",
			    vma->vm_start, vma->vm_end);
		return 0;
	}
	ring = ckpt_object_get(c->objs, CKPT_OBJ_RING, file_inode(vma->vm_file), NULL, &is_new);
	if (!ring)
		return -ENOMEM;
	kioctx = ckpt_aio_of(vma->vm_mm, vma->vm_file);
	if (!kioctx)
		return ckpt_aio_collect_inherited(c, obj, vma, ring);
	ring->ring.owned = true;
	/* any other mapping of it has been refused */
	err = ckpt_aio_is_whole(kioctx, vma) ?
	      ckpt_aio_collect_context(c, obj, vma, kioctx, ring->id) : 0;
	ckpt_aio_put(kioctx);
	return err;
}

void ckpt_collect_aio_rings(struct ckpt_collect *c)
{
	struct ckpt_object *ring;
	unsigned long id;

	ckpt_for_each_object(ring, id, c->objs, CKPT_OBJ_RING)
		if (ring->ring.heir && !ring->ring.owned)
			ckpt_refuse(c->cap, CKPT_R_AIO, ring->ring.heir, id,
				    "it has inherited the ring of a process outside of the tree");
}
