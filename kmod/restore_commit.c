// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commit: the order in which a filled tree is completed and let go.
 *
 *   protect   set the deferred protections of mappings
 *   flush     drop the helpers' signals, in every thread, before any signal is queued
 *   queue     queue the recorded signals
 *   apply     set the state that the kernel acts upon: rseq, restart block, …
 *   stop      begin group stops
 *   arm       arm POSIX timers, whose signals wait in the park
 *   let go    all threads at once; each sets its interval timers, signal mask and robust list
 *
 * Until "let go" a failure leaves a context whose release kills the tree; after
 * it nothing can fail.  Each step runs in all threads in parallel.
 */
#include <linux/delay.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "capture.h"
#include "compat/ksyms.h"
#include "context.h"
#include "events.h"
#include "restore.h"
#include "thread.h"
#include "trace.h"

#define CKPT_LEAVE_MS	2000	/* how long commit waits for threads to be on their way */

struct ckpt_commit {
	struct ckpt_thread **threads;
	unsigned int nr;
};

/* Collect all threads of the context; fails unless they are @nr, parked, and have their records. */
static int ckpt_commit_collect(struct ckpt_ctx *ctx, struct ckpt_commit *commit,
			       unsigned int nr)
{
	const struct ckpt_restore_thread *side;
	struct ckpt_thread *thread;
	int err = 0;

	commit->threads = kvmalloc_array(nr, sizeof(*commit->threads),
					 GFP_KERNEL_ACCOUNT);
	if (!commit->threads)
		return -ENOMEM;
	spin_lock(&ctx->lock);
	if (ctx->nr_threads != nr || ctx->nr_parked != nr)
		err = -ESRCH;
	list_for_each_entry(thread, &ctx->threads, link) {
		if (err || thread->state == CKPT_THREAD_GONE)
			continue;
		side = thread->side;
		if (!side->has_rec)
			err = -ENODATA;
		else
			commit->threads[commit->nr++] = thread;
	}
	spin_unlock(&ctx->lock);
	return err;
}

static bool ckpt_commit_any(const struct ckpt_restore_thread *side)
{
	return true;
}

static bool ckpt_commit_has_signals(const struct ckpt_restore_thread *side)
{
	return !list_empty(&side->signals);
}

static bool ckpt_commit_has_timers(const struct ckpt_restore_thread *side)
{
	return !list_empty(&side->timers);
}

static bool ckpt_commit_is_stopped(const struct ckpt_restore_thread *side)
{
	return side->proc && side->proc->state == CKPT_PROC_STOPPED;
}

/*
 * Lift RLIMIT_SIGPENDING while signals are queued: the program may have lowered the limit after
 * they arrived. The threads of a process queue at the same time, so none of them can do this. A
 * process that is killed meanwhile may have no leader any more.
 */
static void ckpt_commit_swap_limit(struct ckpt_thread *thread, bool back)
{
	struct ckpt_restore_thread *side = thread->side;
	unsigned long *limit = &thread->task->signal->rlim[RLIMIT_SIGPENDING].rlim_cur;

	task_lock(thread->task->group_leader);
	if (!back) {
		side->sigpending_limit = *limit;
		*limit = RLIM_INFINITY;
	} else if (*limit == RLIM_INFINITY) {	/* else another process has set it meanwhile */
		*limit = side->sigpending_limit;
	}
	task_unlock(thread->task->group_leader);
}

static void ckpt_commit_swap_limits(struct ckpt_commit *commit, bool back)
{
	unsigned int i;

	read_lock(ckpt_kdata.tasklist_lock);
	for (i = 0; i < commit->nr; i++) {
		struct ckpt_restore_thread *side = commit->threads[i]->side;

		if (side->proc && pid_alive(commit->threads[i]->task) &&
		    (!back || side->sigpending_limit != RLIM_INFINITY))
			ckpt_commit_swap_limit(commit->threads[i], back);
	}
	read_unlock(ckpt_kdata.tasklist_lock);
}

/* Run @fn in all threads that @which selects, in parallel; returns the first error. */
static int ckpt_commit_all(struct ckpt_commit *commit, ckpt_action_fn fn,
			   bool (*which)(const struct ckpt_restore_thread *side))
{
	unsigned int i, posted;
	int err = 0, ret;

	for (posted = 0; posted < commit->nr; posted++) {
		if (!which(commit->threads[posted]->side))
			continue;
		err = ckpt_thread_post(commit->threads[posted], fn, NULL);
		if (err)
			break;
	}
	for (i = 0; i < posted; i++) {
		if (!which(commit->threads[i]->side))
			continue;
		ret = ckpt_thread_wait(commit->threads[i]);
		if (ret && !err)
			err = ret;
	}
	return err;
}

static int ckpt_commit_queue_signals(struct ckpt_commit *commit)
{
	int err;

	ckpt_commit_swap_limits(commit, false);
	err = ckpt_commit_all(commit, ckpt_restore_queue_signals, ckpt_commit_has_signals);
	ckpt_commit_swap_limits(commit, true);
	return err;
}

static int ckpt_commit_complete(struct ckpt_ctx *ctx, struct ckpt_commit *commit)
{
	int err;

	err = ckpt_restore_protect(ctx);
	if (!err)
		err = ckpt_commit_all(commit, ckpt_restore_flush_signals, ckpt_commit_any);
	if (!err)
		err = ckpt_commit_queue_signals(commit);
	if (!err)
		err = ckpt_commit_all(commit, ckpt_restore_apply, ckpt_commit_any);
	if (!err)
		err = ckpt_commit_all(commit, ckpt_restore_stop, ckpt_commit_is_stopped);
	if (!err)
		err = ckpt_commit_all(commit, ckpt_restore_arm_timers, ckpt_commit_has_timers);
	return err;
}

static void ckpt_commit_let_go(struct ckpt_ctx *ctx, struct ckpt_commit *commit)
{
	struct ckpt_restore_thread *side;
	unsigned int i;

	spin_lock(&ctx->lock);
	for (i = 0; i < commit->nr; i++) {
		side = commit->threads[i]->side;
		side->committed = true;
		WRITE_ONCE(commit->threads[i]->let_go, true);
		wake_up_process(commit->threads[i]->task);
	}
	spin_unlock(&ctx->lock);
}

/* Wait until the threads have left the park or stopped, so that nobody sees them halfway. */
static void ckpt_commit_watch(struct ckpt_ctx *ctx, struct ckpt_commit *commit)
{
	unsigned long end = jiffies + msecs_to_jiffies(CKPT_LEAVE_MS);
	unsigned int i;

	wait_event_killable_timeout(ctx->wq, !READ_ONCE(ctx->nr_threads),
				    msecs_to_jiffies(CKPT_LEAVE_MS));
	for (i = 0; i < commit->nr; i++) {
		if (!ckpt_commit_is_stopped(commit->threads[i]->side))
			continue;
		while (READ_ONCE(commit->threads[i]->task->jobctl) & JOBCTL_STOP_PENDING &&
		       time_before(jiffies, end) && !fatal_signal_pending(current))
			usleep_range(50, 200);
	}
}

int ckpt_restore_commit(struct ckpt_ctx *ctx, struct ckpt_restore_commit *arg)
{
	struct ckpt_commit commit = {};
	int err;

	if (arg->pad || !arg->nr_threads || arg->nr_threads > CKPT_MAX_THREADS)
		return -EINVAL;
	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_RESTORE)
		return -EBADFD;
	err = ckpt_commit_collect(ctx, &commit, arg->nr_threads);
	if (!err)
		err = ckpt_commit_complete(ctx, &commit);
	if (!err) {
		ckpt_ctx_advance(ctx, CKPT_PHASE_RESTORE, CKPT_PHASE_COMMITTED);
		trace_ckpt_phase(ctx, CKPT_PHASE_RESTORE, CKPT_PHASE_COMMITTED);
		ckpt_commit_let_go(ctx, &commit);
		ckpt_commit_watch(ctx, &commit);
		ckpt_event(ctx, CKPT_EVENT_RESTORED, commit.nr);
	}
	kvfree(commit.threads);
	return err;
}
