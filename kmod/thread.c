// SPDX-License-Identifier: GPL-2.0-only
/*
 * The park: where threads of a context wait, and act on themselves.
 *
 * The callback runs in the thread's own context with no lock held, from
 * get_signal(): the thread is about to return to user mode and its registers
 * are in its pt_regs.  A thread that is exiting runs it too, and leaves at once.
 *
 * States move QUEUED -> PARKED -> GONE, or QUEUED -> GONE, under ctx->lock.  A
 * thread that is GONE never touches its ckpt_thread again but to put it.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat/ksyms.h"
#include "context.h"
#include "thread.h"
#include "trace.h"

#define CKPT_SETTLE_TRIES	20000	/* x 50 us: far beyond any preemption */
#define CKPT_FROZEN_POLL	(HZ / 50 ?: 1)

struct ckpt_thread *ckpt_thread_alloc(gfp_t gfp)
{
	struct ckpt_thread *thread = kzalloc(sizeof(*thread), gfp);

	if (!thread)
		return NULL;
	kref_init(&thread->ref);
	INIT_LIST_HEAD(&thread->link);
	INIT_HLIST_NODE(&thread->hash);
	init_completion(&thread->action_done);
	return thread;
}

static void ckpt_thread_free(struct kref *ref)
{
	struct ckpt_thread *thread = container_of(ref, struct ckpt_thread, ref);

	if (thread->side_free)
		thread->side_free(thread->side);
	if (thread->task)
		put_task_struct(thread->task);
	if (thread->ctx)
		ckpt_ctx_put(thread->ctx);
	kfree(thread);
}

void ckpt_thread_put(struct ckpt_thread *thread)
{
	kref_put(&thread->ref, ckpt_thread_free);
}

/*
 * End the thread's work for us; the thread may be alive, dead, or never have been told. Drops the
 * references of the callback.
 */
static void ckpt_thread_leave(struct ckpt_thread *thread)
{
	struct ckpt_ctx *ctx = thread->ctx;
	bool unlisted;

	spin_lock(&ctx->lock);
	if (thread->state == CKPT_THREAD_PARKED)
		ctx->nr_parked--;
	ctx->nr_threads--;
	WRITE_ONCE(thread->state, CKPT_THREAD_GONE);
	hash_del(&thread->hash);
	unlisted = ctx->phase == CKPT_PHASE_DEAD;	/* nobody will reap the list */
	if (unlisted)
		list_del_init(&thread->link);
	if (thread->action) {
		thread->action = NULL;
		thread->action_ret = -ESRCH;
		complete(&thread->action_done);
	}
	spin_unlock(&ctx->lock);
	trace_ckpt_thread_leave(ctx, task_pid_nr(thread->task));
	if (wq_has_sleeper(&ctx->wq))
		wake_up_all(&ctx->wq);
	if (unlisted)
		ckpt_thread_put(thread);
	ckpt_thread_put(thread);
	module_put(THIS_MODULE);
}

/* Run the waiting action; returns false if the thread may leave the park. */
static bool ckpt_thread_act(struct ckpt_thread *thread)
{
	struct ckpt_ctx *ctx = thread->ctx;
	ckpt_action_fn action;

	spin_lock(&ctx->lock);
	action = thread->action;
	if (!action || thread->let_go) {
		bool stay = !thread->let_go;

		spin_unlock(&ctx->lock);
		return stay;
	}
	thread->action = NULL;
	spin_unlock(&ctx->lock);

	thread->action_ret = action(thread, thread->action_arg);
	complete(&thread->action_done);
	return true;
}

/*
 * Sleep until there is an action or the thread may leave the park; false if it was killed.  Only
 * this thread waits here, so a caller with an action for it wakes the task itself.  The thread
 * holds no lock, so the freezers of suspend and of cgroups v1 may take it as frozen where it is.
 */
static bool ckpt_thread_sleep(struct ckpt_thread *thread)
{
	bool killed = false;

	for (;;) {
		set_current_state(TASK_KILLABLE | TASK_FREEZABLE);
		if (READ_ONCE(thread->let_go) || READ_ONCE(thread->action))
			break;
		killed = fatal_signal_pending(current);
		if (killed)
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return !killed;
}

static int ckpt_thread_add_work(struct ckpt_thread *thread)
{
	trace_ckpt_thread_queue(thread->ctx, task_pid_nr(thread->task));
	return task_work_add(thread->task, &thread->work, TWA_SIGNAL);
}

/*
 * A thread that has not been told waits in the lane of the CPU that it ran on, where it will be
 * woken: a CPU that tells threads of its own lane touches no other run queue.
 */
static unsigned int ckpt_lane(int cpu)
{
	return cpu % CKPT_LANES;
}

static void ckpt_lane_push(struct ckpt_ctx *ctx, struct ckpt_thread *thread)
{
	unsigned int lane = ckpt_lane(task_cpu(thread->task));

	lockdep_assert_held(&ctx->lock);
	thread->next = ctx->untold[lane];
	ctx->untold[lane] = thread;
	WRITE_ONCE(ctx->untold_lanes, ctx->untold_lanes | BIT(lane));
}

static struct ckpt_thread *ckpt_lane_pop(struct ckpt_ctx *ctx, unsigned int lane)
{
	struct ckpt_thread *thread = ctx->untold[lane];

	lockdep_assert_held(&ctx->lock);
	if (!thread)
		return NULL;
	ctx->untold[lane] = thread->next;
	if (!thread->next)
		WRITE_ONCE(ctx->untold_lanes, ctx->untold_lanes & ~BIT(lane));
	return thread;
}

/* Next thread to tell: of this CPU's lane, or with @others of the next lane that has any. */
static struct ckpt_thread *ckpt_threads_next_untold(struct ckpt_ctx *ctx, bool others)
{
	unsigned long lane, own = ckpt_lane(raw_smp_processor_id());
	struct ckpt_thread *thread;

	if (!READ_ONCE(ctx->untold_lanes))
		return NULL;
	spin_lock(&ctx->lock);
	thread = ckpt_lane_pop(ctx, own);
	if (!thread && others) {
		lane = find_next_bit_wrap(&ctx->untold_lanes, CKPT_LANES, own);
		if (lane < CKPT_LANES)
			thread = ckpt_lane_pop(ctx, lane);
	}
	spin_unlock(&ctx->lock);
	return thread;
}

static void ckpt_thread_tell(struct ckpt_thread *thread)
{
	struct ckpt_ctx *ctx = thread->ctx;

	if (!ckpt_thread_add_work(thread))
		return;		/* the thread may have left already */
	spin_lock(&ctx->lock);
	ctx->nr_missed++;
	if (ctx->nr_wanted)
		ctx->nr_wanted--;
	spin_unlock(&ctx->lock);
	ckpt_thread_leave(thread);
}

static void ckpt_threads_tell_own(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread;

	while ((thread = ckpt_threads_next_untold(ctx, false)))
		ckpt_thread_tell(thread);
}

static void ckpt_threads_tell_all(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread;

	while ((thread = ckpt_threads_next_untold(ctx, true)))
		ckpt_thread_tell(thread);
}

/*
 * Every thread that has parked calls this while threads are left to tell, so the CPUs that are
 * awake share the work of waking the others.  Threads of this CPU's lane park here and come
 * first; threads of other CPUs are told when this CPU has nothing else to do.
 */
static void ckpt_threads_help_tell(struct ckpt_ctx *ctx)
{
	ckpt_threads_tell_own(ctx);
	if (single_task_running())
		ckpt_threads_tell_all(ctx);
}

/* Tell one thread of each other CPU, so that all CPUs have begun before this one goes on. */
static void ckpt_threads_tell_others(struct ckpt_ctx *ctx)
{
	unsigned long lanes = READ_ONCE(ctx->untold_lanes);
	struct ckpt_thread *thread;
	unsigned long lane;

	__clear_bit(ckpt_lane(raw_smp_processor_id()), &lanes);
	for_each_set_bit(lane, &lanes, CKPT_LANES) {
		spin_lock(&ctx->lock);
		thread = ckpt_lane_pop(ctx, lane);
		spin_unlock(&ctx->lock);
		if (thread)
			ckpt_thread_tell(thread);
	}
}

unsigned int ckpt_threads_tell(struct ckpt_ctx *ctx, struct ckpt_thread *first)
{
	struct ckpt_thread *thread, *next;

	spin_lock(&ctx->lock);
	ctx->nr_missed = 0;
	for (thread = first; thread; thread = next) {
		next = thread->next;
		ckpt_lane_push(ctx, thread);
	}
	spin_unlock(&ctx->lock);
	ckpt_threads_tell_others(ctx);
	ckpt_threads_tell_own(ctx);
	cond_resched();		/* let the threads of this CPU park */
	ckpt_threads_tell_all(ctx);
	return READ_ONCE(ctx->nr_missed);
}

static void ckpt_thread_park(struct ckpt_thread *thread)
{
	struct ckpt_ctx *ctx = thread->ctx;
	u64 now;
	bool enough;

	if (thread->on_park)
		thread->on_park(thread, NULL);

	now = ktime_get_ns();
	spin_lock(&ctx->lock);
	WRITE_ONCE(thread->state, CKPT_THREAD_PARKED);
	ctx->nr_parked++;
	if (!ctx->parked_since)
		WRITE_ONCE(ctx->parked_since, now);
	ctx->parked_last = max(ctx->parked_last, now);
	enough = ctx->nr_parked >= ctx->nr_wanted;
	spin_unlock(&ctx->lock);
	trace_ckpt_thread_park(ctx, task_pid_nr(current));
	if (enough)
		wake_up_all(&ctx->wq);
	ckpt_threads_help_tell(ctx);

	do {
		if (!ckpt_thread_sleep(thread))
			return;
	} while (ckpt_thread_act(thread));

	if (thread->on_leave)
		thread->on_leave(thread, NULL);
}

static void ckpt_thread_work(struct callback_head *work)
{
	struct ckpt_thread *thread = container_of(work, struct ckpt_thread, work);

	/*
	 * The work that was queued last runs first.  The work behind ours, mostly files that are
	 * being closed, must be done when the thread parks, so queue ours at the end again.
	 */
	if (work->next && !task_work_add(current, work, TWA_NONE))
		return;
	if (!(current->flags & PF_EXITING)) {
		if (!READ_ONCE(thread->let_go))
			ckpt_thread_park(thread);
		else if (thread->mend)
			thread->mend(thread, NULL);
	}
	ckpt_thread_leave(thread);
}

/* Runs in a thread whose park was cancelled, but whose call may have been cut short by it. */
static void ckpt_thread_mend(struct callback_head *work)
{
	struct ckpt_thread *thread = container_of(work, struct ckpt_thread, work);

	if (!(current->flags & PF_EXITING))
		thread->mend(thread, NULL);
	ckpt_thread_put(thread);
	module_put(THIS_MODULE);
}

static bool ckpt_thread_match_others(struct callback_head *work, void *unused)
{
	return work->func != ckpt_thread_work && work->func != ckpt_thread_mend;
}

void ckpt_thread_run_others(void)
{
	struct callback_head *work;

	while ((work = ckpt_k(task_work_cancel_match)(current, ckpt_thread_match_others, NULL))) {
		work->func(work);
		cond_resched();
	}
}

void ckpt_thread_enlist(struct ckpt_thread *thread, struct ckpt_ctx *ctx,
			struct task_struct *task)
{
	thread->ctx = ckpt_ctx_get(ctx);
	thread->task = get_task_struct(task);
	thread->state = CKPT_THREAD_QUEUED;
	init_task_work(&thread->work, ckpt_thread_work);
	kref_get(&thread->ref);		/* the reference of the callback */
	__module_get(THIS_MODULE);

	spin_lock(&ctx->lock);
	list_add_tail(&thread->link, &ctx->threads);
	hash_add(ctx->by_task, &thread->hash, (unsigned long)task);
	ctx->nr_threads++;
	spin_unlock(&ctx->lock);
}

void ckpt_thread_delist(struct ckpt_thread *thread)
{
	struct ckpt_ctx *ctx = thread->ctx;

	spin_lock(&ctx->lock);
	list_del_init(&thread->link);
	hash_del(&thread->hash);
	ctx->nr_threads--;
	spin_unlock(&ctx->lock);
	kref_put(&thread->ref, ckpt_thread_free);
	module_put(THIS_MODULE);
}

int ckpt_thread_queue(struct ckpt_thread *thread, struct ckpt_ctx *ctx,
		      struct task_struct *task)
{
	int err;

	ckpt_thread_enlist(thread, ctx, task);
	err = ckpt_thread_add_work(thread);
	if (err)
		ckpt_thread_delist(thread);
	return err;
}

int ckpt_thread_attach(struct ckpt_ctx *ctx, struct task_struct *task,
		       struct ckpt_thread **ret_thread)
{
	struct ckpt_thread *thread = ckpt_thread_alloc(GFP_KERNEL_ACCOUNT);
	int err;

	if (!thread)
		return -ENOMEM;
	err = ckpt_thread_queue(thread, ctx, task);
	if (err) {
		ckpt_thread_put(thread);
		return err;
	}
	*ret_thread = thread;
	return 0;
}

struct ckpt_thread *ckpt_thread_find(struct ckpt_ctx *ctx, struct task_struct *task)
{
	struct ckpt_thread *thread, *found = NULL;

	spin_lock(&ctx->lock);
	hash_for_each_possible(ctx->by_task, thread, hash, (unsigned long)task) {
		if (thread->task == task) {
			found = thread;
			break;
		}
	}
	spin_unlock(&ctx->lock);
	return found;
}

/* True if a freezer has the thread: nothing but that freezer wakes it. */
static bool ckpt_thread_is_frozen(const struct ckpt_thread *thread)
{
	return READ_ONCE(thread->task->__state) & TASK_FROZEN;
}

int ckpt_thread_try_post(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg)
{
	struct ckpt_ctx *ctx = thread->ctx;
	int err = 0;

	spin_lock(&ctx->lock);
	if (thread->state != CKPT_THREAD_PARKED || thread->let_go) {
		err = -ESRCH;
	} else if (thread->action) {
		err = -EBUSY;
	} else {
		reinit_completion(&thread->action_done);
		thread->action_arg = arg;
		WRITE_ONCE(thread->action, fn);
		wake_up_process(thread->task);
		if (ckpt_thread_is_frozen(thread)) {
			WRITE_ONCE(thread->action, NULL);
			err = -EAGAIN;
		}
	}
	spin_unlock(&ctx->lock);
	return err;
}

int ckpt_thread_post(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg)
{
	int err;

	while ((err = ckpt_thread_try_post(thread, fn, arg)) == -EAGAIN)
		if (schedule_timeout_killable(CKPT_FROZEN_POLL) && fatal_signal_pending(current))
			return -EINTR;
	return err;
}

int ckpt_thread_wait(struct ckpt_thread *thread)
{
	struct ckpt_ctx *ctx = thread->ctx;
	bool started;

	if (!wait_for_completion_killable(&thread->action_done))
		return thread->action_ret;

	spin_lock(&ctx->lock);
	started = !thread->action;
	WRITE_ONCE(thread->action, NULL);
	spin_unlock(&ctx->lock);
	if (started)
		wait_for_completion(&thread->action_done);
	return -EINTR;
}

int ckpt_thread_run(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg)
{
	int err = ckpt_thread_post(thread, fn, arg);

	return err ? err : ckpt_thread_wait(thread);
}

bool ckpt_thread_is_parked(struct ckpt_thread *thread)
{
	return READ_ONCE(thread->state) == CKPT_THREAD_PARKED;
}

bool ckpt_thread_is_gone(const struct ckpt_thread *thread)
{
	return READ_ONCE(thread->state) == CKPT_THREAD_GONE;
}

int ckpt_thread_settle(struct ckpt_thread *thread)
{
	unsigned int tries;

	for (tries = 0; tries < CKPT_SETTLE_TRIES; tries++) {
		if (!ckpt_thread_is_parked(thread) ||
		    __fatal_signal_pending(thread->task))
			return -ESRCH;
		if (ckpt_k(wait_task_inactive)(thread->task,
					       TASK_UNINTERRUPTIBLE | TASK_FROZEN))
			return 0;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (tries > 100)
			usleep_range(20, 50);
		else
			cond_resched();
	}
	return -EBUSY;
}

static bool ckpt_thread_match(struct callback_head *work, void *data)
{
	return work == data;
}

/* Only look for ckpt_thread_mend(): never match, so that nothing is cancelled. */
static bool ckpt_thread_match_mend(struct callback_head *work, void *data)
{
	if (work->func == ckpt_thread_mend)
		*(bool *)data = true;
	return false;
}

static bool ckpt_thread_has_mend(struct task_struct *task)
{
	bool found = false;

	ckpt_k(task_work_cancel_match)(task, ckpt_thread_match_mend, &found);
	return found;
}

/*
 * Cancel work that has not begun, so that no work stays behind in stopped threads.  Work that
 * cannot be cancelled is running, and sees let_go.  Our notification may have cut a call of a
 * thread short that is not stopped, or may do so when the thread wakes: such a thread gets
 * ckpt_thread_mend() in place of the park, which takes over the callback's references
 * (*@ret_mended).
 */
static bool ckpt_thread_cancel(struct ckpt_thread *thread, bool *ret_mended)
{
	struct task_struct *task = thread->task;

	lockdep_assert_held(&thread->ctx->lock);

	*ret_mended = false;
	if (!ckpt_k(task_work_cancel_match)(task, ckpt_thread_match, &thread->work))
		return false;
	if (!thread->mend || READ_ONCE(task->__state) & (__TASK_STOPPED | __TASK_TRACED) ||
	    ckpt_thread_has_mend(task))
		return true;
	init_task_work(&thread->work, ckpt_thread_mend);
	*ret_mended = !task_work_add(task, &thread->work, TWA_SIGNAL);
	return true;
}

/* Wake the list that begins with @thread, without ctx->lock, which the woken threads need first. */
static void ckpt_threads_wake(struct ckpt_thread *thread)
{
	struct ckpt_thread *next;

	for (; thread; thread = next) {
		next = thread->next;
		wake_up_process(thread->task);
		ckpt_thread_put(thread);
	}
}

void ckpt_threads_thaw(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread, *woken = NULL, **last = &woken;
	unsigned int cancelled = 0;
	bool mended;

	spin_lock(&ctx->lock);
	list_for_each_entry(thread, &ctx->threads, link) {
		if (thread->state == CKPT_THREAD_GONE || thread->let_go ||
		    thread->held)
			continue;
		WRITE_ONCE(thread->let_go, true);
		if (thread->state == CKPT_THREAD_PARKED) {
			/* only the thaw that sets let_go gets here */
			kref_get(&thread->ref);
			*last = thread;
			last = &thread->next;
			continue;
		}
		if (!ckpt_thread_cancel(thread, &mended))
			continue;	/* the running callback sees let_go before it sleeps */
		/* as ckpt_thread_leave() does; the list's reference keeps @thread alive */
		ctx->nr_threads--;
		WRITE_ONCE(thread->state, CKPT_THREAD_GONE);
		hash_del(&thread->hash);
		if (mended)
			continue;
		kref_put(&thread->ref, ckpt_thread_free);
		cancelled++;
	}
	*last = NULL;
	spin_unlock(&ctx->lock);
	ckpt_threads_wake(woken);
	wake_up_all(&ctx->wq);
	while (cancelled--)
		module_put(THIS_MODULE);
}

void ckpt_thread_hold(struct ckpt_thread *thread)
{
	spin_lock(&thread->ctx->lock);
	thread->held = true;
	spin_unlock(&thread->ctx->lock);
}

void ckpt_threads_unhold(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread;

	spin_lock(&ctx->lock);
	list_for_each_entry(thread, &ctx->threads, link)
		thread->held = false;
	spin_unlock(&ctx->lock);
}

void ckpt_threads_kill(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread;

	spin_lock(&ctx->lock);
	list_for_each_entry(thread, &ctx->threads, link)
		if (thread->state != CKPT_THREAD_GONE &&
		    !(thread->task->signal->flags & SIGNAL_GROUP_EXIT))
			send_sig(SIGKILL, thread->task, 1);
	spin_unlock(&ctx->lock);
	ckpt_threads_thaw(ctx);
}

void ckpt_threads_reap(struct ckpt_ctx *ctx)
{
	struct ckpt_thread *thread, *next;
	LIST_HEAD(gone);

	spin_lock(&ctx->lock);
	list_for_each_entry_safe(thread, next, &ctx->threads, link)
		if (thread->state == CKPT_THREAD_GONE)
			list_move(&thread->link, &gone);
	if (!ctx->nr_threads)
		ctx->parked_since = 0;
	spin_unlock(&ctx->lock);

	list_for_each_entry_safe(thread, next, &gone, link) {
		list_del_init(&thread->link);
		ckpt_thread_put(thread);
	}
}
