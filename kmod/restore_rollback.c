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
 * Files that a parked thread closes are let go only when its task works run, which would be when
 * the thread leaves the park. So a thread that has emptied its process runs them at once: locks,
 * ports and names of these files must be free before user space opens the files again.
 */
#include <linux/fdtable.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/time64.h>

#include "capture.h"
#include "compat/ksyms.h"
#include "context.h"
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
	int err;

	ckpt_rollback_stop_itimers();
	ckpt_k(exit_itimers)(current);
	ckpt_track_forget(current->mm);
	err = ckpt_k(__close_range)(0, ~0U, 0);
	if (err)
		return err;
	err = ckpt_aios_destroy();
	if (err)
		return err;
	current->mm->def_flags = 0;
	err = vm_munmap(0, TASK_SIZE_MAX);
	if (err)
		return err;
	ckpt_k(task_work_run)();
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

static int ckpt_rollback_prepare(struct ckpt_ctx *ctx, struct ckpt_rollback_job *job)
{
	unsigned int i, room = READ_ONCE(ctx->nr_threads);
	int err;

	job->items = kvcalloc(room + 1, sizeof(*job->items), GFP_KERNEL_ACCOUNT);
	if (!job->items)
		return -ENOMEM;
	err = ckpt_rollback_collect(ctx, job, room);
	for (i = 0; !err && i < job->nr; i++) {
		job->items[i].side = ckpt_restore_side_alloc();
		if (!job->items[i].side)
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

static int ckpt_rollback_check(struct ckpt_ctx *ctx)
{
	int err;

	/* the process may have dropped its rights since it opened the device */
	if (!ckpt_ctx_permitted())
		return -EPERM;
	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	/* excluded threads run, and nothing of excluded memory and files would come back */
	return ctx->capture->tree.excludes.nr ? -EOPNOTSUPP : 0;
}

int ckpt_restore_rollback(struct ckpt_ctx *ctx, struct ckpt_rollback *arg)
{
	struct ckpt_rollback_job job = {};
	struct ckpt_restore *restore;
	unsigned int i;
	int err;

	if (arg->pad)
		return -EINVAL;
	arg->nr_threads = 0;
	err = ckpt_rollback_check(ctx);
	if (err)
		return err;
	restore = ckpt_restore_alloc(arg->monotonic_delta_ns, arg->boottime_delta_ns);
	if (!restore)
		return -ENOMEM;
	err = ckpt_rollback_prepare(ctx, &job);
	if (!err) {
		ckpt_capture_disarm(ctx->capture);
		if (!ckpt_ctx_advance(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_RESTORE))
			err = -ETIMEDOUT;
	}
	if (err) {
		kfree(restore);
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
