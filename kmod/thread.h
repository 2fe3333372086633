/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that has work of ours queued: parked, on its way there, or unable.
 *
 * One task_work per thread (TWA_SIGNAL).  Its callback, ckpt_thread_park(),
 * runs in the thread's own context on the way to user mode, inside
 * get_signal(), before the kernel decides whether an interrupted system call
 * restarts.  There the thread waits killable, and runs the actions that
 * commands give it: whatever must be done by the thread itself is an action.
 *
 * The module text is pinned (module reference) from attach until the callback
 * has left; module exit also waits for an RCU tasks grace period.
 *
 * Being told interrupts a call even if the thread is let go before it parks, so then, too,
 * it has something to mend (thread->mend) before it goes on.
 *
 * Life: the context's list holds one reference, the queued callback the other.
 * A thread that died or was thawed stays on the list as GONE until
 * ckpt_threads_reap(), so whoever holds cmd_lock may keep pointers meanwhile.
 */
#ifndef _CKPT_THREAD_H
#define _CKPT_THREAD_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/task_work.h>

struct ckpt_ctx;
struct ckpt_thread;

/* An action: runs in the parked thread, may sleep, returns 0 or -errno. */
typedef int (*ckpt_action_fn)(struct ckpt_thread *thread, void *arg);

enum ckpt_thread_state {
	CKPT_THREAD_QUEUED,	/* work added, not there yet */
	CKPT_THREAD_PARKED,
	CKPT_THREAD_GONE,	/* killed or exited: never touch the task again */
};

struct ckpt_thread {
	struct kref ref;
	struct list_head link;		/* ctx->threads */
	struct hlist_node hash;		/* ctx->by_task */
	struct callback_head work;
	struct ckpt_ctx *ctx;		/* reference */
	struct task_struct *task;	/* reference */
	enum ckpt_thread_state state;	/* under ctx->lock */
	bool told;			/* given to ckpt_threads_tell(); the freezer's own */
	bool let_go;			/* leave the park; under ctx->lock */
	bool held;			/* a thaw leaves it alone; under ctx->lock */
	ckpt_action_fn action;		/* under ctx->lock; NULL: none, or taken by the thread */
	void *action_arg;
	int action_ret;
	struct completion action_done;
	ckpt_action_fn on_park; /* before it counts as parked, or NULL; set before attaching */
	ckpt_action_fn on_leave; /* last thing before leaving the park (not when killed), or NULL */
	ckpt_action_fn
		mend; /* instead of both, in one that was told and let go unparked, or NULL */
	void *side;			/* capture's or restore's own per-thread data */
	void (*side_free)(void *side);	/* called with the last reference, or NULL */
	struct ckpt_thread *next;	/* of those to be told, or of those that a thaw wakes */
};

/* A thread not attached yet; NULL without memory.  Free with ckpt_thread_put(). */
struct ckpt_thread *ckpt_thread_alloc(gfp_t gfp);
void ckpt_thread_put(struct ckpt_thread *thread);
/*
 * Put @thread on the context's list; does not sleep.  Takes a context, task and
 * module reference, and hands the caller's reference of @thread to the list.
 */
void ckpt_thread_enlist(struct ckpt_thread *thread, struct ckpt_ctx *ctx,
			struct task_struct *task);
/*
 * Queue the park of what is enlisted: @first and what follows it by next; process context,
 * may sleep.  Threads that park meanwhile help, first with those of their own CPU.  Returns
 * when the last one has been told, or is just being told.  What is exiting becomes GONE; how
 * many did, as far as is known, is returned.
 */
unsigned int ckpt_threads_tell(struct ckpt_ctx *ctx, struct ckpt_thread *first);
/* Off the list without having been told; the list's reference is the caller's, to put. */
void ckpt_thread_delist(struct ckpt_thread *thread);
/* Enlist and queue the park; on failure the reference is still the caller's, to put. */
int ckpt_thread_queue(struct ckpt_thread *thread, struct ckpt_ctx *ctx,
		      struct task_struct *task);
/* Both in one; may sleep. */
int ckpt_thread_attach(struct ckpt_ctx *ctx, struct task_struct *task,
		       struct ckpt_thread **ret_thread);
/* Find by task; caller holds cmd_lock. */
struct ckpt_thread *ckpt_thread_find(struct ckpt_ctx *ctx, struct task_struct *task);

/*
 * Give @thread an action and go on; -ESRCH if it is not parked, -EBUSY if it has one.
 * Each success needs one ckpt_thread_wait().
 */
int ckpt_thread_post(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg);
/* What the action returned; -ESRCH if the thread died, -EINTR if the caller is
 * killed (only after the action ended or can no longer start).
 */
int ckpt_thread_wait(struct ckpt_thread *thread);
/* Both in one. */
int ckpt_thread_run(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg);

/* Wait until the parked thread is off its CPU, so that regsets and registers may be touched. */
int ckpt_thread_settle(struct ckpt_thread *thread);
bool ckpt_thread_is_parked(struct ckpt_thread *thread);
/* Killed, exited, or let go: it is no longer to be touched. */
bool ckpt_thread_is_gone(const struct ckpt_thread *thread);

/*
 * Let every thread of the context go (sets let_go, cancels queued work, wakes); any process
 * context.
 */
void ckpt_threads_thaw(struct ckpt_ctx *ctx);
/* Hold, or no longer hold, what a thaw leaves alone. */
void ckpt_thread_hold(struct ckpt_thread *thread);
void ckpt_threads_unhold(struct ckpt_ctx *ctx);
/* SIGKILL every thread group of the context, then let go. */
void ckpt_threads_kill(struct ckpt_ctx *ctx);
/* Take the threads that are GONE off the list; caller holds cmd_lock, or is release(). */
void ckpt_threads_reap(struct ckpt_ctx *ctx);

#endif /* _CKPT_THREAD_H */
