/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that has work of ours queued: parked, on its way to the park, or unable to park.
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
 * Telling a thread to park interrupts its system call, even if the thread is let go before it
 * parks; so then, too, the thread must mend the call (thread->mend) before it goes on.
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
	CKPT_THREAD_QUEUED,	/* work added, thread not parked yet */
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
	bool told;			/* was given to ckpt_threads_tell(); for freeze.c only */
	bool let_go;			/* leave the park; under ctx->lock */
	bool held;			/* a thaw leaves the thread alone; under ctx->lock */
	ckpt_action_fn action;		/* under ctx->lock; NULL: none, or taken by the thread */
	void *action_arg;
	int action_ret;
	struct completion action_done;
	ckpt_action_fn on_park; /* runs before PARKED is set, or NULL; set before attaching */
	ckpt_action_fn on_leave; /* last thing before leaving the park (not when killed), or NULL */
	ckpt_action_fn mend; /* replaces both in a thread let go before it parked; or NULL */
	void *side;			/* capture's or restore's own per-thread data */
	void (*side_free)(void *side);	/* called with the last reference, or NULL */
	struct ckpt_thread *next;	/* next in a lane, or in the list that a thaw wakes */
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
 * Queue the park of enlisted threads, @first and those linked by next; process context, may sleep.
 * Threads that park meanwhile help, first with threads of their own CPU.  Returns when the last
 * thread has been told, or is just being told.  Exiting threads become GONE; returns their
 * number, as far as it is known.
 */
unsigned int ckpt_threads_tell(struct ckpt_ctx *ctx, struct ckpt_thread *first);
/* Take an untold thread off the list; the caller gets the list's reference, to put. */
void ckpt_thread_delist(struct ckpt_thread *thread);
/* Enlist @thread and queue its park; on failure the caller keeps its reference, to put. */
int ckpt_thread_queue(struct ckpt_thread *thread, struct ckpt_ctx *ctx,
		      struct task_struct *task);
/* Allocate a thread and queue its park; may sleep. */
int ckpt_thread_attach(struct ckpt_ctx *ctx, struct task_struct *task,
		       struct ckpt_thread **ret_thread);
/* Find by task; caller holds cmd_lock. */
struct ckpt_thread *ckpt_thread_find(struct ckpt_ctx *ctx, struct task_struct *task);

/*
 * Give @thread an action without waiting; -ESRCH if it is not parked, -EBUSY if it has an action,
 * -EAGAIN if a freezer (suspend, cgroups v1) has it.  Each success needs one ckpt_thread_wait().
 */
int ckpt_thread_try_post(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg);
/* The same, but wait, killable, for a freezer that has the thread to let it go. */
int ckpt_thread_post(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg);
/*
 * Wait for the action and return its result; -ESRCH if the thread died, -EINTR if the caller is
 * killed (only after the action ended or can no longer start).
 */
int ckpt_thread_wait(struct ckpt_thread *thread);
/* Post an action and wait for it. */
int ckpt_thread_run(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg);

/*
 * In an action: run the caller's task works that are not ours, such as the ends of closed files. A
 * park that another context has queued waits until the caller leaves this one: that park would stop
 * the caller in the middle of the action, and the other context would capture a half-made process.
 */
void ckpt_thread_run_others(void);

/* Wait until the parked thread is off its CPU, so that regsets and registers may be touched. */
int ckpt_thread_settle(struct ckpt_thread *thread);
bool ckpt_thread_is_parked(struct ckpt_thread *thread);
/* True for a thread that was killed, exited, or let go: it must not be touched any more. */
bool ckpt_thread_is_gone(const struct ckpt_thread *thread);

/*
 * Let every thread of the context go (sets let_go, cancels queued work, wakes); any process
 * context.
 */
void ckpt_threads_thaw(struct ckpt_ctx *ctx);
/* Make a thaw leave @thread alone; end that for all threads. */
void ckpt_thread_hold(struct ckpt_thread *thread);
void ckpt_threads_unhold(struct ckpt_ctx *ctx);
/* SIGKILL every thread group of the context, then let go. */
void ckpt_threads_kill(struct ckpt_ctx *ctx);
/* Take the threads that are GONE off the list; caller holds cmd_lock, or is release(). */
void ckpt_threads_reap(struct ckpt_ctx *ctx);

#endif /* _CKPT_THREAD_H */
