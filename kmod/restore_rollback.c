// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rollback: a frozen capture becomes a restore of the very threads that it froze.
 *
 * Everything that can fail without harm comes first: the checks and the memory.  Then the context
 * changes sides.  From there on the tree is one that is being filled: release kills the tree
 * unless the restore is committed.  Each parked thread gets the state of a thread that entered,
 * and empties by itself what a new task would not have: signal mask, areas that the kernel writes
 * to when the thread dies, timers, descriptors, memory.
 *
 * Memory of maps that the caller names stays: the caller knows which of their pages differ from
 * those of the image. Files that such a map maps stay open until the map lets go of them, so the
 * caller names no map of a file with a lock.
 *
 * Files that a parked thread closes are let go only when its task works run, which would be when
 * the thread leaves the park. So a thread that has emptied its process runs them at once: locks,
 * ports and names of these files must be free before user space opens the files again. A freeze of
 * another context waits: its park is none of the works that run here.
 */
#include <linux/fdtable.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pkeys.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "capture.h"
#include "compat/ksyms.h"
#include "context.h"
#include "l0.h"
#include "objects.h"
#include "records.h"
#include "restore.h"
#include "restore_mm.h"
#include "thread.h"
#include "trace.h"
#include "track.h"
#include "watch.h"

struct ckpt_rollback_item {
	struct ckpt_thread *thread;
	struct ckpt_restore_thread *side;	/* NULL: the thread has it */
};

struct ckpt_rollback_job {
	struct ckpt_rollback_item *items;
	unsigned int nr;
};

/* ------------------------------------------------------ in the threads */

static void ckpt_rollback_stop_itimers(void)
{
	unsigned int which;

	for (which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		struct itimerspec64 none = {};

		ckpt_k(do_setitimer)(which, &none, NULL);
	}
	spin_lock_irq(&ckpt_sighand_of(current)->siglock);
	current->signal->it_real_incr = 0;
	spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
}

/* An action: what a thread that entered did on its way to the park. */
static int ckpt_rollback_disown(struct ckpt_thread *thread, void *unused)
{
	ckpt_restore_disown(thread);
	/* ppoll and the like: the mask that such a call saved must not come back at the end */
	clear_restore_sigmask();
	WRITE_ONCE(current->restart_block.fn, (long (*)(struct restart_block *))
					       ckpt_kdata.do_no_restart_syscall);
	current->pdeath_signal = 0;
	return 0;
}

/*
 * An action, when all threads have been disowned: empty the process, and let its files go.  The
 * second thread of a process finds nothing left, but may have closed files itself.
 */
static int ckpt_rollback_empty(struct ckpt_thread *thread, void *unused)
{
	const struct ckpt_restore_thread *side = thread->side;
	int err;

	ckpt_rollback_stop_itimers();
	ckpt_k(exit_itimers)(current);
	ckpt_track_forget(current->mm);
	ckpt_l0_forget(current->mm, false);
	err = ckpt_k(__close_range)(0, ~0U, 0);
	if (err)
		return err;
	err = ckpt_aios_destroy();
	if (err)
		return err;
	current->mm->def_flags = 0;
	err = side->keeps ? 0 : vm_munmap(0, TASK_SIZE_MAX);
	if (err)
		return err;
	ckpt_thread_run_others();
	return 0;
}

/* Run @fn in all threads, in parallel; returns the first error. */
static int ckpt_rollback_run(const struct ckpt_rollback_job *job, ckpt_action_fn fn)
{
	unsigned int i, posted;
	int err = 0, ret;

	for (posted = 0; posted < job->nr; posted++) {
		err = ckpt_thread_post(job->items[posted].thread, fn, NULL);
		if (err)
			break;
	}
	for (i = 0; i < posted; i++) {
		ret = ckpt_thread_wait(job->items[i].thread);
		if (ret && !err)
			err = ret;
	}
	return err;
}

/* ----------------------------------------------------------- preparing */

/* Take all threads of the context: -EBUSY unless all are parked. */
static int ckpt_rollback_collect(struct ckpt_ctx *ctx, struct ckpt_rollback_job *job,
				 unsigned int room)
{
	struct ckpt_thread *thread;
	int err = 0;

	spin_lock(&ctx->lock);
	if (ctx->nr_threads != ctx->nr_parked || ctx->nr_threads > room)
		err = -EBUSY;
	list_for_each_entry(thread, &ctx->threads, link) {
		if (err || thread->state == CKPT_THREAD_GONE)
			continue;
		if (thread->held || thread->let_go || thread->action)
			err = -EBUSY;
		else
			job->items[job->nr++].thread = thread;
	}
	spin_unlock(&ctx->lock);
	return err ? err : job->nr ? 0 : -ESRCH;
}

/* Note the maps whose memory stays. */
static int ckpt_rollback_keep(struct ckpt_ctx *ctx, const struct ckpt_rollback *arg,
			      struct ckpt_restore *restore)
{
	const struct ckpt_object *obj;
	unsigned int i;
	u32 *ids;
	int err = 0;

	if (!arg->nr_keep)
		return arg->keep ? -EINVAL : 0;
	if (arg->nr_keep > CKPT_MAX_THREADS)
		return -EINVAL;
	ids = vmemdup_user(u64_to_user_ptr(arg->keep), array_size(arg->nr_keep, sizeof(*ids)));
	if (IS_ERR(ids))
		return PTR_ERR(ids);
	restore->kept = kvcalloc(arg->nr_keep, sizeof(*restore->kept), GFP_KERNEL_ACCOUNT);
	if (!restore->kept)
		err = -ENOMEM;
	for (i = 0; !err && i < arg->nr_keep; i++) {
		obj = ckpt_object_by_id(&ctx->capture->objects, CKPT_OBJ_MM, ids[i]);
		if (!obj || !obj->mm.mm) {
			err = -ENOENT;
			break;
		}
		mmgrab(obj->mm.mm);
		restore->kept[restore->nr_kept++] = (struct ckpt_restore_kept){
			.mm = obj->mm.mm, .snapshot = obj->mm.kept,
		};
		if (obj->mm.kept)
			mmget(obj->mm.kept);
	}
	kvfree(ids);
	return err;
}

/* The thread may be dying, and then has no map. */
static bool ckpt_rollback_keeps(const struct ckpt_restore *restore, struct task_struct *task)
{
	bool keeps;

	task_lock(task);
	keeps = task->mm && ckpt_restore_kept(restore, task->mm);
	task_unlock(task);
	return keeps;
}

static int ckpt_rollback_prepare(struct ckpt_ctx *ctx, const struct ckpt_restore *restore,
				 struct ckpt_rollback_job *job)
{
	unsigned int i, room = READ_ONCE(ctx->nr_threads);
	int err;

	job->items = kvcalloc(room + 1, sizeof(*job->items), GFP_KERNEL_ACCOUNT);
	if (!job->items)
		return -ENOMEM;
	err = ckpt_rollback_collect(ctx, job, room);
	for (i = 0; !err && i < job->nr; i++) {
		job->items[i].side = ckpt_restore_side_alloc();
		if (job->items[i].side)
			job->items[i].side->keeps =
				ckpt_rollback_keeps(restore, job->items[i].thread->task);
		else
			err = -ENOMEM;
		cond_resched();
	}
	return err;
}

static void ckpt_rollback_done(struct ckpt_rollback_job *job)
{
	unsigned int i;

	for (i = 0; i < job->nr; i++)
		if (job->items[i].side)
			ckpt_restore_side_free(job->items[i].side);
	kvfree(job->items);
}

/* ----------------------------------------------------------- changing sides */

/* Give a parked thread the state of a restore in place of that of its freeze. */
static void ckpt_rollback_turn(struct ckpt_rollback_item *item)
{
	struct ckpt_thread *thread = item->thread;
	void (*old_free)(void *side) = thread->side_free;
	void *old = thread->side;

	/*
	 * The thread looks at these when it is let go, which only a commit does from now on.  A
	 * thread that is killed leaves without a look.
	 */
	ckpt_restore_take_side(thread, item->side);
	item->side = NULL;
	if (old_free)
		old_free(old);
}

/*
 * True if threads are left out, which run, or files. Memory that is left out goes with all else,
 * as the caller has said that he knows.
 */
static bool ckpt_rollback_misses(const struct ckpt_tree *tree)
{
	const struct ckpt_excludes *ex = &tree->excludes;

	return ex->nr && (!(tree->flags & CKPT_TARGET_ROLLBACK) ||
			  ex->list[ex->nr - 1].kind != CKPT_EXCLUDE_RANGE);
}

static int ckpt_rollback_check(struct ckpt_ctx *ctx)
{
	int err;

	/* the process may have dropped its rights since it opened the device */
	if (!ckpt_ctx_permitted())
		return -EPERM;
	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	return ckpt_rollback_misses(&ctx->capture->tree) ? -EOPNOTSUPP : 0;
}

int ckpt_restore_rollback(struct ckpt_ctx *ctx, struct ckpt_rollback *arg)
{
	struct ckpt_rollback_job job = {};
	struct ckpt_restore *restore;
	unsigned int i;
	int err;

	arg->nr_threads = 0;
	err = ckpt_rollback_check(ctx);
	if (err)
		return err;
	restore = ckpt_restore_alloc(arg->monotonic_delta_ns, arg->boottime_delta_ns);
	if (!restore)
		return -ENOMEM;
	err = ckpt_rollback_keep(ctx, arg, restore);
	if (!err)
		err = ckpt_rollback_prepare(ctx, restore, &job);
	if (!err) {
		ckpt_capture_disarm(ctx->capture);
		if (!ckpt_ctx_advance(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_RESTORE))
			err = -ETIMEDOUT;
	}
	if (err) {
		ckpt_restore_free(restore);
		ckpt_rollback_done(&job);
		return err;
	}
	trace_ckpt_phase(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_RESTORE);
	ctx->restore = restore;
	ckpt_capture_hand_over(ctx);
	for (i = 0; i < job.nr; i++)
		ckpt_rollback_turn(&job.items[i]);
	arg->nr_threads = job.nr;
	err = ckpt_rollback_run(&job, ckpt_rollback_disown);
	if (!err)
		err = ckpt_rollback_run(&job, ckpt_rollback_empty);
	ckpt_rollback_done(&job);
	return err;
}

/* ----------------------------------------------------------- memory that stays */

/* Is the whole range of the record mapped as the record says, in one piece or several? */
static bool ckpt_vma_is_kept(const struct ckpt_rec_vma *rec)
{
	unsigned long addr = rec->start, prot = calc_vm_prot_bits(ckpt_vma_prot(rec), 0);
	struct vm_area_struct *vma;

	for (; addr < rec->end; addr = vma->vm_end) {
		vma = find_vma(current->mm, addr);
		if (!vma || vma->vm_start > addr)
			return false;
		if (ckpt_vma_is_vdso(rec))
			continue;
		if ((vma->vm_flags & VM_ACCESS_FLAGS) != prot ||
		    vma_pkey(vma) != ckpt_vma_key(rec) ||
		    !(vma->vm_flags & VM_MAYSHARE) != !ckpt_vma_is_shared(rec))
			return false;
	}
	return true;
}

static int ckpt_vmas_are_kept(struct ckpt_mm_job *job)
{
	bool kept = true;
	unsigned int i;

	mmap_read_lock(current->mm);
	for (i = 0; i < job->nr && kept; i++) {
		job->bad = i;
		kept = ckpt_vma_is_kept(job->items[i].rec);
	}
	mmap_read_unlock(current->mm);
	return kept ? 0 : -ENOTUNIQ;
}

int ckpt_vmas_keep(struct ckpt_mm_job *job)
{
	unsigned long from = 0, to;
	unsigned int i;
	int err = 0;

	for (i = 0; i <= job->nr && !err; i++) {
		job->bad = i;
		to = i < job->nr ? job->items[i].rec->start : TASK_SIZE_MAX;
		if (to > from)
			err = vm_munmap(from, to - from);
		from = i < job->nr ? job->items[i].rec->end : to;
		cond_resched();
	}
	return err ? err : ckpt_vmas_are_kept(job);
}
