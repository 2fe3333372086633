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
 */
#ifndef _CKPT_THREAD_H
#define _CKPT_THREAD_H

#include <linux/completion.h>
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
	struct list_head link;		/* ctx->threads */
	struct callback_head work;
	struct ckpt_ctx *ctx;		/* reference */
	struct task_struct *task;	/* reference */
	enum ckpt_thread_state state;	/* under ctx->lock */
	bool let_go;			/* leave the park; under ctx->lock */
	ckpt_action_fn action;		/* under ctx->lock; NULL: none */
	void *action_arg;
	int action_ret;
	struct completion *action_done;
	ckpt_action_fn on_leave;	/* last thing before leaving the park (not when killed), or NULL */
	void *side;			/* capture's or restore's own per-thread data */
	wait_queue_head_t wq;		/* the thread waits here */
};

/* Queue the park on @task; -ESRCH if it is exiting. Takes a context, task and module reference. */
int ckpt_thread_attach(struct ckpt_ctx *ctx, struct task_struct *task,
		       struct ckpt_thread **ret_thread);
/* Find by task; caller holds cmd_lock. */
struct ckpt_thread *ckpt_thread_find(struct ckpt_ctx *ctx, struct task_struct *task);
/* Run @fn in the parked thread and wait; -ESRCH if it died, -EINTR if the caller is killed
 * (only after the action ended or can no longer start). */
int ckpt_thread_run(struct ckpt_thread *thread, ckpt_action_fn fn, void *arg);
/* Wait until the parked thread is off its CPU, so that regsets and registers may be touched. */
int ckpt_thread_settle(struct ckpt_thread *thread);
/* Let every thread of the context go (sets let_go, cancels queued work, wakes). */
void ckpt_threads_thaw(struct ckpt_ctx *ctx);
/* SIGKILL every thread group of the context, then let go. */
void ckpt_threads_kill(struct ckpt_ctx *ctx);

#endif /* _CKPT_THREAD_H */
