// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parking every thread of a tree.
 *
 * An attempt is a series of rounds: scan the tree, queue the park on every
 * thread not seen before (all of them first, then one wait), until a scan finds
 * nothing new although everything was parked or stopped before it began: a thread that is told to
 * park in the middle of a fork still makes the child, after a scan that saw only the parent.
 * Nobody on the machine can fork or exit during a scan, so while known threads have not parked
 * those are looked at, at intervals that grow, and the tree is scanned when none is left.
 * Some states only settle while the tree runs: a vfork parent whose child has not called exec
 * yet, a group stop half done.  So an attempt that makes no progress is undone, the tree runs
 * for a moment, and the next attempt begins, until the deadline.
 *
 * A vfork child runs on meanwhile: its parent can only park after the child has called exec
 * or exited.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "capture.h"
#include "compat/ksyms.h"
#include "context.h"
#include "events.h"
#include "freeze.h"
#include "records.h"
#include "restart_block.h"
#include "sleepers.h"
#include "thread.h"
#include "trace.h"

/*
 * Length of an attempt, and of the moment that the tree runs after a failed one. Both double each
 * time: a slow machine needs it.
 */
#define CKPT_ATTEMPT_NS		(200 * NSEC_PER_MSEC)
#define CKPT_ATTEMPT_MAX_NS	(2 * NSEC_PER_SEC)
#define CKPT_BACKOFF_MS		5
#define CKPT_BACKOFF_MAX_MS	200
#define CKPT_TIMEOUT_MAX_MS	60000
#define CKPT_RESERVE		(1UL << 20)

/*
 * The next look at threads that have not parked comes after a part of the time that they have
 * been late, so it costs a freeze at most as much longer.
 */
#define CKPT_LATE_PART		8
#define CKPT_LATE_MIN_US	100
#define CKPT_LATE_MAX_US	10000

struct ckpt_freezing {
	struct ckpt_ctx *ctx;
	struct ckpt_capture *cap;
	u64 deadline;
	u64 attempt_ns;		/* how long the next attempt may take */
	u64 attempt_end;	/* of the current attempt */
	u64 told;		/* ktime_get_ns() before the first thread was told, or 0 */
	unsigned int rounds;
	unsigned int fresh;	/* threads that this round attached */
	unsigned int waiting;	/* threads neither parked nor stopped, and leaders being reaped */
	unsigned int late;	/* of these, the threads */
	unsigned int stopped;	/* threads in a group stop: they do not report */
	bool unsettled;		/* a thread must run on before it can park */
	bool settled;		/* at the last count no thread was left that could fork */
	bool grew;		/* this attempt found threads after its first round */
};

/* True for the child of a vfork that has not called exec or exited yet. */
static bool ckpt_freeze_is_vfork_child(struct task_struct *task)
{
	return READ_ONCE(task->vfork_done);
}

/* True for a task that waits in kernel_clone() for such a child. */
static bool ckpt_freeze_is_vfork_parent(struct task_struct *task)
{
	struct task_struct *child;
	bool found = false;

	read_lock(ckpt_kdata.tasklist_lock);
	list_for_each_entry(child, &task->children, sibling)
		if (ckpt_freeze_is_vfork_child(child)) {
			found = true;
			break;
		}
	read_unlock(ckpt_kdata.tasklist_lock);
	return found;
}

/* ------------------------------------------------------------- attaching */

/* The rights are those of the opener: a descriptor that is passed on gives nobody more. */
static bool ckpt_freeze_may_look(const struct ckpt_freezing *run, struct task_struct *task)
{
	const struct cred *cred = override_creds(run->ctx->cred);
	bool may = ckpt_k(ptrace_may_access)(task, PTRACE_MODE_READ_REALCREDS);

	revert_creds(cred);
	return may;
}

/* Refuse tasks that cannot be parked, however long the freeze waits, or may not be. */
static bool ckpt_freeze_refuses(struct ckpt_freezing *run, struct task_struct *task)
{
	if (task->signal == current->signal)
		ckpt_refuse(run->cap, CKPT_R_ANCESTOR, task, 0, "the caller itself");
	else if (task->flags & PF_KTHREAD)
		ckpt_refuse(run->cap, CKPT_R_KERNEL_THREAD, task, 0, "kernel thread");
	else if (task->flags & CKPT_PF_USER_WORKER)
		ckpt_refuse(run->cap, CKPT_R_IO_URING, task, 0,
			    "a worker thread of the kernel: it stays for 5 s after a request");
	else if (READ_ONCE(task->ptrace))
		ckpt_refuse(run->cap, CKPT_R_TRACED, task, 0, "ptrace");
	else if (!list_empty(&task->ptraced))
		ckpt_refuse(run->cap, CKPT_R_TRACED, task, 0, "it traces another");
	else if (!ckpt_freeze_may_look(run, task))
		ckpt_refuse(run->cap, CKPT_R_ACCESS, task, 0, "ptrace access");
	else
		return ckpt_owner_refuses(run->cap, task);
	return true;
}

/*
 * True for a task that is exiting. It does not park any more; the freeze waits for its end.
 * Queueing work would only disturb it: a core dump that it writes to a pipe would be cut short.
 */
static bool ckpt_freeze_is_leaving(struct task_struct *task)
{
	return task->flags & PF_EXITING || READ_ONCE(task->signal->flags) & SIGNAL_GROUP_EXIT;
}

static int ckpt_freeze_prepare(struct ckpt_freezing *run, struct ckpt_member *member,
			       bool *timed)
{
	struct ckpt_thread *thread = ckpt_thread_alloc(GFP_KERNEL_ACCOUNT);

	if (!thread)
		return -ENOMEM;
	if (ckpt_restart_block_prepare(thread)) {
		ckpt_thread_put(thread);
		return -ENOMEM;
	}
	ckpt_thread_enlist(thread, run->ctx, member->task);
	member->thread = thread;
	*timed |= ckpt_restart_block_wants_deadline(member->task);
	return 0;
}

/* Prepare the new threads, which they do not notice; sets *@timed if deadlines must be learnt. */
static int ckpt_freeze_enlist(struct ckpt_freezing *run, bool *timed)
{
	struct ckpt_tree *tree = &run->cap->tree;
	struct ckpt_member *member, *end = tree->members + tree->nr_members;
	int err = 0;

	run->stopped = 0;
	for (member = tree->members; member < end && !err; member++) {
		member->thread = ckpt_thread_find(run->ctx, member->task);
		if (!member->thread && !ckpt_freeze_is_leaving(member->task) &&
		    !ckpt_freeze_refuses(run, member->task)) {
			if (ckpt_freeze_is_vfork_child(member->task))
				run->unsettled = true;
			else
				err = ckpt_freeze_prepare(run, member, timed);
		}
		if (member->thread && ckpt_freeze_is_stopped(member->task))
			run->stopped++;
	}
	return err;
}

/* Set the number of parked threads at which the waiting freeze is woken. */
static void ckpt_freeze_expect(struct ckpt_freezing *run)
{
	struct ckpt_ctx *ctx = run->ctx;

	spin_lock(&ctx->lock);
	ctx->nr_wanted = ctx->nr_threads - min(ctx->nr_threads, run->stopped);
	spin_unlock(&ctx->lock);
}

static void ckpt_freeze_delist_new(struct ckpt_tree *tree)
{
	struct ckpt_member *member, *end = tree->members + tree->nr_members;

	for (member = tree->members; member < end; member++) {
		if (!member->thread || member->thread->told)
			continue;
		ckpt_thread_delist(member->thread);
		ckpt_thread_put(member->thread);
		member->thread = NULL;
	}
}

/* Tell the new threads to park; returns the number of threads that can be waited for. */
static unsigned int ckpt_freeze_tell(struct ckpt_freezing *run)
{
	struct ckpt_tree *tree = &run->cap->tree;
	struct ckpt_member *member, *end = tree->members + tree->nr_members;
	struct ckpt_thread *first = NULL, **last = &first;
	unsigned int nr = 0, missed;

	for (member = tree->members; member < end; member++) {
		struct ckpt_thread *thread = member->thread;

		if (!thread || thread->told)
			continue;
		thread->told = true;
		*last = thread;
		last = &thread->next;
		nr++;
	}
	*last = NULL;
	ckpt_freeze_expect(run);
	if (!run->told)
		run->told = ktime_get_ns();
	missed = ckpt_threads_tell(run->ctx, first);
	return nr - min(nr, missed);
}

/*
 * First allocate everything for the new threads, then learn the deadlines of those that sleep,
 * then tell all to park: the last two steps follow each other as closely as possible.
 */
static int ckpt_freeze_attach(struct ckpt_freezing *run)
{
	bool timed = false;
	int err;

	run->fresh = 0;
	run->unsettled = false;
	err = ckpt_freeze_enlist(run, &timed);
	if (err || run->cap->nr_refusals) {
		ckpt_freeze_delist_new(&run->cap->tree);
		return err;
	}
	if (timed)
		ckpt_sleepers_find(&run->cap->tree);
	run->fresh = ckpt_freeze_tell(run);
	return 0;
}

/* --------------------------------------------------------------- waiting */

/*
 * Count the threads that are not parked; a half-stopped process must run on until it stops. A
 * thread that was told and is no member any more has left the tree: its parent ended after the
 * scan that found it. The next attempt does not find that thread.
 */
static void ckpt_freeze_count(struct ckpt_freezing *run)
{
	unsigned int told = READ_ONCE(run->ctx->nr_threads), known = 0, i, j;
	struct ckpt_tree *tree = &run->cap->tree;

	run->waiting = 0;
	run->late = 0;
	run->stopped = 0;
	for (i = 0; i < tree->nr_procs; i++) {
		struct ckpt_proc *proc = &tree->procs[i];
		unsigned int parked = 0, stopped = 0;

		for (j = 0; j < proc->nr; j++) {
			struct ckpt_member *member = &tree->members[proc->first + j];

			known += !!member->thread;
			if (member->thread && ckpt_thread_is_parked(member->thread))
				parked++;
			else if (member->thread && ckpt_freeze_is_stopped(member->task))
				stopped++;
			else if (!READ_ONCE(member->task->exit_state))
				run->late++;
			else
				run->unsettled = true;	/* the task died since the scan */
		}
		run->stopped += stopped;
		if (parked && stopped)
			run->unsettled = true;
		if (READ_ONCE(proc->leader->exit_state) == EXIT_DEAD)
			run->waiting++;		/* the leader is being reaped */
	}
	run->waiting += run->late;
	if (told > known)
		run->unsettled = true;
}

static bool ckpt_freeze_enough(struct ckpt_freezing *run)
{
	struct ckpt_ctx *ctx = run->ctx;
	bool enough;

	spin_lock(&ctx->lock);
	enough = ctx->nr_parked + run->stopped >= ctx->nr_threads ||
		 ctx->phase == CKPT_PHASE_EXPIRED;
	spin_unlock(&ctx->lock);
	return enough;
}

static int ckpt_freeze_wait(struct ckpt_freezing *run, unsigned long timeout)
{
	struct ckpt_ctx *ctx = run->ctx;
	long left;

	ckpt_freeze_expect(run);	/* exiting threads could not be told */
	cond_resched(); /* threads of this CPU park now; often nothing is left to wait for */
	left = wait_event_killable_timeout(ctx->wq, ckpt_freeze_enough(run), timeout);
	return left < 0 ? -EINTR : 0;
}

/*
 * Look at the threads that have not parked until none is left, or the attempt is over. Those that
 * were told wake the freeze when they have parked; those that exit do not.
 */
static int ckpt_freeze_wait_late(struct ckpt_freezing *run)
{
	u64 start = ktime_get_ns();
	unsigned long us;
	int err;

	do {
		us = clamp_t(u64, div_u64(ktime_get_ns() - start, CKPT_LATE_PART * NSEC_PER_USEC),
			     CKPT_LATE_MIN_US, CKPT_LATE_MAX_US);
		if (ckpt_freeze_enough(run))	/* all that would report have parked */
			usleep_range(us, us + us / 2);
		err = ckpt_freeze_wait(run, max(usecs_to_jiffies(us), 1UL));
		if (err)
			return err;
		ckpt_freeze_count(run);
	} while (run->late && !run->unsettled && !ckpt_capture_expired(run->ctx) &&
		 ktime_get_ns() < run->attempt_end);
	return 0;
}

/*
 * Scan, tell, wait, count. Returns 1: frozen, 0: another round is needed, or -errno.  After a
 * round that finds everything settled, the next round scans once more: only a scan that begins
 * after that sees every thread.
 */
static int ckpt_freeze_round(struct ckpt_freezing *run)
{
	struct ckpt_ctx *ctx = run->ctx;
	bool was_settled = run->settled;
	int err;

	err = ckpt_tree_scan(&run->cap->tree, ctx);
	if (err == -E2BIG)
		ckpt_refuse_pid(ctx, CKPT_R_LIMIT, 0, "more than %d threads",
				CKPT_MAX_THREADS);
	else if (err)
		return err;
	else if (!run->cap->tree.nr_procs)
		ckpt_refuse_pid(ctx, CKPT_R_NO_PROCESS, 0, "the tree is empty");
	else if (!run->cap->tree.nr_members)
		ckpt_refuse(run->cap, CKPT_R_NO_PROCESS, run->cap->tree.procs[0].leader, 0,
			    "it has exited, and waits for its parent to take its status");
	if (!run->rounds)
		ckpt_excludes_check(&run->cap->tree.excludes, &run->cap->tree, ctx);
	if (run->cap->nr_refusals)
		return 0;

	err = ckpt_freeze_attach(run);
	if (err)
		return err;
	run->rounds++;
	if (run->fresh)		/* threads of this CPU park once we sleep */
		err = ckpt_freeze_wait(run, msecs_to_jiffies(20));
	if (err)
		return err;
	ckpt_freeze_count(run);
	trace_ckpt_freeze_round(ctx, run->rounds, run->fresh, run->waiting);
	run->settled = !run->waiting && !run->unsettled;
	if (run->settled || run->fresh)
		return run->settled && was_settled && !run->fresh;
	return ckpt_freeze_wait_late(run);
}

/* Free the threads that are GONE; members then point to the others only. */
static void ckpt_freeze_reap(struct ckpt_freezing *run)
{
	struct ckpt_tree *tree = &run->cap->tree;
	struct ckpt_member *member, *end = tree->members + tree->nr_members;

	ckpt_threads_reap(run->ctx);
	for (member = tree->members; member < end; member++)
		member->thread = ckpt_thread_find(run->ctx, member->task);
}

/* Let the parked threads run, and wait until they do. */
static int ckpt_freeze_retreat(struct ckpt_freezing *run)
{
	struct ckpt_ctx *ctx = run->ctx;
	long left;

	ckpt_capture_disarm(run->cap);
	ckpt_threads_unhold(ctx);
	ckpt_threads_thaw(ctx);
	left = wait_event_killable_timeout(ctx->wq, !READ_ONCE(ctx->nr_threads),
					   nsecs_to_jiffies(CKPT_ATTEMPT_NS) + 1);
	ckpt_freeze_reap(run);
	if (left < 0)
		return -EINTR;
	return left ? 0 : -EBUSY;
}

/*
 * Retreat until no thread of the last attempt is left: a thread that was let go and has not left
 * yet would count as parked in the next attempt, and run during it.
 */
static int ckpt_freeze_clear(struct ckpt_freezing *run)
{
	int err;

	do {
		err = ckpt_freeze_retreat(run);
	} while (err == -EBUSY && ktime_get_ns() < run->deadline);
	return err;
}

/* --------------------------------------------------------------- verdicts */

static void ckpt_freeze_blame(struct ckpt_freezing *run, struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);
	enum ckpt_reason reason = state & TASK_UNINTERRUPTIBLE ? CKPT_R_D_STATE : CKPT_R_TIMEOUT;
	const char *exiting = task->flags & PF_EXITING ? "exiting, " : "";
	unsigned long wchan;

	if (ckpt_freeze_is_vfork_parent(task) || ckpt_freeze_is_vfork_child(task)) {
		ckpt_refuse(run->cap, CKPT_R_VFORK, task, 0, "vfork in progress");
		return;
	}
	wchan = state ? ckpt_k(get_wchan)(task) : 0;
	/* print the name only: addresses of the kernel stay secret */
	if (wchan)
		ckpt_refuse(run->cap, reason, task, 0, "%s%ps", exiting, (void *)wchan);
	else
		ckpt_refuse(run->cap, reason, task, 0, "%srunning", exiting);
}

/* True if the thread has not parked or, after a retreat (@back), has not left the park. */
static bool ckpt_freeze_is_late(const struct ckpt_member *member, bool back)
{
	if (READ_ONCE(member->task->exit_state))
		return false;
	if (back)
		return member->thread || ckpt_freeze_is_vfork_parent(member->task);
	return !member->thread || (!ckpt_thread_is_parked(member->thread) &&
				   !ckpt_freeze_is_stopped(member->task));
}

static void ckpt_freeze_blame_all(struct ckpt_freezing *run, bool back)
{
	struct ckpt_tree *tree = &run->cap->tree;
	unsigned int i;

	for (i = 0; i < tree->nr_members; i++)
		if (ckpt_freeze_is_late(&tree->members[i], back))
			ckpt_freeze_blame(run, tree->members[i].task);
	if (run->cap->nr_refusals)
		return;
	if (run->grew)
		ckpt_refuse_pid(run->ctx, CKPT_R_FORK_STORM, 0,
				"%u processes, %u threads after %u rounds",
				tree->nr_procs, tree->nr_members, run->rounds);
	else
		ckpt_refuse_pid(run->ctx, CKPT_R_TIMEOUT, 0,
				"the last of %u threads parked too late", tree->nr_members);
}

/* One attempt: 1 frozen, 0 not yet, or -errno. */
static int ckpt_freeze_attempt(struct ckpt_freezing *run)
{
	unsigned int first = run->rounds;
	int ret;

	run->attempt_end = min(run->deadline, ktime_get_ns() + run->attempt_ns);
	run->grew = false;
	run->settled = false;
	do {
		ret = ckpt_freeze_round(run);
		run->grew |= run->fresh && run->rounds - first > 1;
		if (ret || run->cap->nr_refusals)
			return ret;
		if (ckpt_capture_expired(run->ctx))
			return -ETIMEDOUT;
		/* only a half-done stop or a vfork is left: no use to wait on */
		if (run->unsettled && !run->fresh && run->rounds - first > 10)
			return 0;
	} while (ktime_get_ns() < run->attempt_end);
	return 0;
}

static int ckpt_freeze_all(struct ckpt_freezing *run, u64 max_pause_ns)
{
	u64 longest = clamp_t(u64, max_pause_ns / 2, CKPT_ATTEMPT_NS, CKPT_ATTEMPT_MAX_NS);
	unsigned int backoff = CKPT_BACKOFF_MS;
	int ret;

	run->attempt_ns = CKPT_ATTEMPT_NS;
	for (;;) {
		ckpt_capture_arm(run->cap, max_pause_ns);
		ret = ckpt_freeze_attempt(run);
		if (ret || run->cap->nr_refusals)
			return ret;
		if (ktime_get_ns() >= run->deadline) {
			ckpt_freeze_blame_all(run, false);
			return 0;
		}
		ret = ckpt_freeze_clear(run);
		if (ret == -EBUSY) {
			ckpt_freeze_blame_all(run, true);
			return 0;
		}
		if (ret)
			return ret;
		if (msleep_interruptible(backoff) && fatal_signal_pending(current))
			return -EINTR;
		backoff = min(backoff * 2, CKPT_BACKOFF_MAX_MS);
		run->attempt_ns = min(run->attempt_ns * 2, longest);
	}
}

/* Clean up what the last freeze left: its snapshot, and threads on their way out of the park. */
static int ckpt_freeze_begin(struct ckpt_freezing *run)
{
	struct ckpt_ctx *ctx = run->ctx;
	int err;

	if (ckpt_ctx_phase(ctx) == CKPT_PHASE_THAWED) {
		ckpt_capture_undo(ctx);
		ckpt_ctx_advance(ctx, CKPT_PHASE_THAWED, CKPT_PHASE_TARGET);
	}
	ckpt_refuse_reset(run->cap);
	ckpt_records_reset(ctx->records);
	if (READ_ONCE(ctx->nr_threads)) {
		err = ckpt_freeze_clear(run);
		if (err)
			return err;
	}
	ckpt_freeze_reap(run);
	/* allocate now, so that the pause allocates little */
	return ckpt_records_reserve(ctx->records, CKPT_RESERVE);
}

static int ckpt_freeze_succeed(struct ckpt_freezing *run, struct ckpt_freeze *arg)
{
	struct ckpt_ctx *ctx = run->ctx;

	trace_ckpt_phase(ctx, CKPT_PHASE_TARGET, CKPT_PHASE_FROZEN);
	if (!ckpt_ctx_advance(ctx, CKPT_PHASE_TARGET, CKPT_PHASE_FROZEN))
		return -ETIMEDOUT;
	arg->nr_procs = run->cap->tree.nr_procs;
	arg->nr_threads = run->cap->tree.nr_members;
	arg->freeze_ns = max(ctx->parked_last, run->told) - run->told;
	arg->rounds = run->rounds;
	ckpt_event(ctx, CKPT_EVENT_FROZEN, arg->freeze_ns);
	return 0;
}

int ckpt_capture_freeze(struct ckpt_ctx *ctx, struct ckpt_freeze *arg)
{
	struct ckpt_freezing run = { .ctx = ctx, .cap = ctx->capture };
	int ret;

	ret = ckpt_capture_expect(ctx, CKPT_PHASE_TARGET, CKPT_PHASE_THAWED);
	if (ret)
		return ret;
	if (!arg->timeout_ms || arg->timeout_ms > CKPT_TIMEOUT_MAX_MS ||
	    !arg->max_pause_ms || arg->max_pause_ms > CKPT_MAX_PAUSE_MS || arg->pad)
		return -EINVAL;
	run.deadline = ktime_get_ns() + arg->timeout_ms * NSEC_PER_MSEC;
	ret = ckpt_freeze_begin(&run);
	if (ret)
		return ret;

	ret = ckpt_freeze_all(&run, arg->max_pause_ms * NSEC_PER_MSEC);
	if (ret == 1 && !run.cap->nr_refusals)
		ckpt_owner_check(run.cap);
	if (ret == 1 && !run.cap->nr_refusals)
		ret = ckpt_freeze_succeed(&run, arg);
	if (!ret && !run.cap->nr_refusals)
		return 0;

	ckpt_capture_undo(ctx);
	if (ckpt_capture_expired(ctx))
		return -ETIMEDOUT;
	ret = ckpt_refuse_verdict(run.cap) ?: ret;
	if (ret == -EOPNOTSUPP || ret == -EBUSY)
		ckpt_event(ctx, CKPT_EVENT_REFUSED, 0);
	return ret;
}
