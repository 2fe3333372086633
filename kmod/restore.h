/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The restore side: threads made by user space enter a context, park, and get the recorded state,
 * which they set by themselves (actions) or, while they are off their CPU, the caller sets.
 *
 * Every command but ENTER runs with cmd_lock held, PAGES_… for reading.  Only
 * threads that entered the context are touched.
 */
#ifndef _CKPT_RESTORE_H
#define _CKPT_RESTORE_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/types.h>

#include <linux/ckpt.h>

#include "restart_block.h"

struct ckpt_ctx;
struct ckpt_thread;

#define CKPT_FILL_BATCH		512	/* pages looked up at once: a huge page */
#define CKPT_FAULT_LOCK_BITS	4

/* Private mappings that are writable until commit, then get their protection. */
struct ckpt_protect {
	unsigned long start;
	unsigned long end;
	unsigned long prot;
	unsigned int key;		/* protection key that the kernel chose; 0: none */
};

/* A memory map whose record has been applied. */
struct ckpt_restore_mm {
	struct list_head link;		/* ckpt_restore.mms */
	struct mm_struct *mm;		/* reference by mmgrab(): its address identifies the map */
	struct ckpt_thread *thread;	/* one of its threads */
	struct ckpt_protect *protect;
	unsigned int nr_protect;
	unsigned int key;		/* of its mappings that may only be executed; 0: none */
	u32 pkeys;			/* that its program has allocated, as bits */
};

/* A map whose memory stays in a rollback. */
struct ckpt_restore_kept {
	struct mm_struct *mm;		/* reference by mmgrab() */
	struct mm_struct *snapshot;	/* kept of it, l0.h: reference; or NULL */
};

/* ckpt_ctx.restore; protected by cmd_lock, which must be held for writing to change it */
struct ckpt_restore {
	struct ckpt_clock_deltas deltas;
	struct list_head mms;
	struct list_head rings;		/* of asynchronous I/O: restore_aio.c */
	struct ckpt_restore_kept *kept;	/* maps whose memory stays; kvmalloc */
	unsigned int nr_kept;
	/*
	 * Chosen by memory map: held for reading while faults may make huge pages, for writing
	 * while they must not (MMF_DISABLE_THP applies to the whole map).
	 */
	struct rw_semaphore fault_locks[1 << CKPT_FAULT_LOCK_BITS];
};

/* A signal to be queued at commit. */
struct ckpt_restore_signal {
	struct list_head link;
	struct ckpt_rec_sigpending rec;
};

/* ckpt_thread.side: the state that a thread is given at commit. */
struct ckpt_restore_thread {
	struct ckpt_rec_thread rec;
	struct ckpt_rec_proc *proc;	/* PROC, in the thread that it was given for; else NULL */
	struct list_head signals;	/* struct ckpt_restore_signal */
	unsigned int nr_signals;
	struct list_head timers;	/* struct ckpt_restore_timer, with @proc */
	unsigned int nr_timers;
	unsigned long sigpending_limit;	/* with @proc: RLIMIT_SIGPENDING while it is lifted */
	struct ckpt_clock_deltas deltas;
	bool has_rec;
	bool keeps;			/* of a rollback: the memory of its process stays */
	bool committed;			/* set before the thread is let go */
};

/* A checked stream of records in kernel memory. */
struct ckpt_rec_stream {
	const void *buf;
	u32 len;
	u32 pos;
	u32 bad;			/* offset of the record being worked on */
};

/* Next record, NULL at the end. */
const void *ckpt_rec_next(struct ckpt_rec_stream *stream);
/* The thread @pid (caller's PID namespace) if it has entered and parked, or NULL. */
struct ckpt_thread *ckpt_restore_find(struct ckpt_ctx *ctx, pid_t pid);
/* True if all live threads of @thread's process have parked in this context. */
bool ckpt_restore_owns_process(struct ckpt_ctx *ctx, struct ckpt_thread *thread);
/* The memory map of @pid, to be put with mmput(); never the caller's own. */
struct mm_struct *ckpt_restore_get_mm(struct ckpt_ctx *ctx, pid_t pid);
/* True for a range that is page aligned, not empty, and in user space. */
bool ckpt_range_ok(u64 start, u64 end);

/*
 * The sighand of current, or of a task that tasklist_lock keeps from being released; NULL: the task
 * has been released.
 */
static inline struct sighand_struct *ckpt_sighand_of(struct task_struct *task)
{
	return rcu_dereference_raw(task->sighand);
}

/* restore.c: a restore without maps; the context owns it once ctx->restore says so. */
struct ckpt_restore *ckpt_restore_alloc(s64 monotonic_ns, s64 boottime_ns);
void ckpt_restore_free(struct ckpt_restore *restore);
/* The entry of a map whose memory stays, as CKPT_IOC_ROLLBACK was told; or NULL. */
const struct ckpt_restore_kept *ckpt_restore_kept(const struct ckpt_restore *restore,
						  const struct mm_struct *mm);
/* The state of a thread of a restore, and what a thread that has it does in the park. */
struct ckpt_restore_thread *ckpt_restore_side_alloc(void);
void ckpt_restore_side_free(void *side);
void ckpt_restore_take_side(struct ckpt_thread *thread, struct ckpt_restore_thread *side);

/* The commands. */
int ckpt_restore_rollback(struct ckpt_ctx *ctx, struct ckpt_rollback *arg);
int ckpt_restore_begin(struct ckpt_ctx *ctx, struct ckpt_restore_begin *arg);
int ckpt_restore_enter(struct ckpt_ctx *ctx, struct ckpt_enter *arg);
int ckpt_restore_wait(struct ckpt_ctx *ctx, struct ckpt_restore_wait *arg);
int ckpt_restore_state(struct ckpt_ctx *ctx, struct ckpt_restore_state *arg);
int ckpt_restore_pages_write(struct ckpt_ctx *ctx, struct ckpt_pages *arg);
int ckpt_restore_l0_copy(struct ckpt_ctx *ctx, struct ckpt_l0_copy *arg);
int ckpt_restore_pages_share(struct ckpt_ctx *ctx, struct ckpt_pages_share *arg);
int ckpt_restore_pages_drop(struct ckpt_ctx *ctx, struct ckpt_pages_drop *arg);
int ckpt_restore_commit(struct ckpt_ctx *ctx, struct ckpt_restore_commit *arg);

/* Apply records to @thread; on error stream->bad is the offset of the record that failed. */
int ckpt_restore_mm(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		    struct ckpt_rec_stream *stream);
void ckpt_restore_mms_free(struct ckpt_restore *restore);
void ckpt_restore_rings_free(struct ckpt_restore *restore);	/* restore_aio.c */
int ckpt_restore_protect(struct ckpt_ctx *ctx);
int ckpt_restore_files(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		       struct ckpt_rec_stream *stream);
int ckpt_restore_sigactions(struct ckpt_thread *thread,
			    const struct ckpt_rec_sigactions *rec);
int ckpt_restore_proc(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
		      const struct ckpt_rec_proc *rec);
/* True if @pid is a zombie and a child of a parked process. */
bool ckpt_restore_is_zombie(struct ckpt_ctx *ctx, pid_t pid);
int ckpt_restore_zombie(struct ckpt_ctx *ctx, pid_t pid, struct ckpt_rec_stream *stream);
int ckpt_restore_thread(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			const struct ckpt_rec_thread *rec);
int ckpt_restore_signal(struct ckpt_thread *thread,
			const struct ckpt_rec_sigpending *rec);
/* restore_epoll.c: files are those of the caller, who may be no thread of the restore. */
int ckpt_restore_epoll(const struct ckpt_rec_epoll *rec);
int ckpt_restore_signalfd(struct ckpt_thread *thread, const struct ckpt_rec_signalfd *rec);
/* mqueue.c: the same */
int ckpt_restore_mq_notify(struct ckpt_thread *thread, const struct ckpt_rec_mq_notify *rec);
/* restore_timers.c */
int ckpt_restore_timer(struct ckpt_thread *thread, const struct ckpt_rec_timer *rec);
void ckpt_restore_timers_free(struct ckpt_restore_thread *side);
int ckpt_restore_arm_timers(struct ckpt_thread *thread, void *unused);	/* an action */
/* restore_socks.c */
int ckpt_restore_sock_creds(struct ckpt_ctx *ctx, const struct ckpt_rec_sock_creds *rec);
int ckpt_restore_regs(struct ckpt_thread *thread, const u64 *regs);
int ckpt_restore_xstate(struct ckpt_thread *thread, const void *xstate, u32 size);

/* Actions and steps of commit, restore_task.c and restore_proc.c. */
void ckpt_restore_disown(struct ckpt_thread *thread);
int ckpt_restore_flush_signals(struct ckpt_thread *thread, void *unused);
int ckpt_restore_queue_signals(struct ckpt_thread *thread, void *unused);
int ckpt_restore_apply(struct ckpt_thread *thread, void *unused);
int ckpt_restore_stop(struct ckpt_thread *thread, void *unused);
int ckpt_restore_leave(struct ckpt_thread *thread, void *unused);

#endif /* _CKPT_RESTORE_H */
