/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context: one open /dev/ckpt, from open to release.
 *
 * Life: a kref; the file holds one reference, and so does every thread with work of ours.
 * release() makes the context dead (thaws or kills), then drops its reference; the last thread
 * to leave frees the context.
 *
 * Lock order:
 *   ctx->cmd_lock        a command, taken killable; commands that fill memory take it for reading
 *     restore->fault_locks the faults of one map
 *       mmap_lock of a target
 *         tasklist_lock  read, while threads are attached
 *           ctx->lock    spinlock: thread list, phases, counters; process context only
 *             sighand->siglock, pi_lock
 */
#ifndef _CKPT_CONTEXT_H
#define _CKPT_CONTEXT_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct pid_namespace;
struct ckpt_capture;		/* capture.h, private to the capture side */
struct ckpt_restore;		/* restore.h, private to the restore side */
struct ckpt_l0;			/* l0.c, private to it */
struct ckpt_records;		/* records.h: growing buffer of records */

enum ckpt_phase {
	CKPT_PHASE_NEW,		/* nothing chosen */
	CKPT_PHASE_TARGET,	/* capture: roots known, nothing frozen */
	CKPT_PHASE_FROZEN,	/* capture: every thread parked or quiescent */
	CKPT_PHASE_COLLECTED,	/* capture: records taken, still frozen */
	CKPT_PHASE_THAWED,	/* capture: the tree runs, snapshot readable */
	CKPT_PHASE_EXPIRED,	/* capture: the maximum pause passed */
	CKPT_PHASE_RESTORE,	/* restore: filling */
	CKPT_PHASE_COMMITTED,	/* restore: let go */
	CKPT_PHASE_HOLDER,	/* keeps snapshots: l0.h */
	CKPT_PHASE_DEAD,	/* released */
};

#define CKPT_LANES	BITS_PER_LONG	/* CPU n has lane n % CKPT_LANES */

struct ckpt_ctx {
	struct kref ref;
	u64 id;				/* for events and tracepoints */
	pid_t opener;			/* for events */
	struct rw_semaphore cmd_lock;	/* serialises commands; filling memory takes it to read */
	spinlock_t lock;		/* protects phase, threads, nr_* */
	enum ckpt_phase phase;
	struct list_head threads;	/* struct ckpt_thread.link, dead ones included */
	DECLARE_HASHTABLE(by_task, 10);	/* struct ckpt_thread.hash */
	unsigned int nr_threads;	/* attached threads that are not GONE */
	unsigned int nr_parked;		/* of nr_threads: parked now */
	unsigned int nr_wanted;		/* wq is woken when so many have parked, or one left */
	struct ckpt_thread *untold[CKPT_LANES];	/* threads to be told, by their CPU */
	unsigned long untold_lanes;	/* bit mask of lanes that have threads */
	unsigned int nr_missed;		/* threads that could not be told: they were exiting */
	u64 parked_last;		/* ktime_get_ns() of the last park */
	u64 parked_since; /* ktime_get_ns() of the first park since the last reap; 0: none */
	wait_queue_head_t wq;		/* enough threads parked, a thread left; poll(2) */
	const struct cred *cred;	/* of the opener */
	struct pid_namespace *pid_ns;	/* of the opener: pids in commands */
	struct ckpt_records *records;	/* what read(2) yields, or NULL */
	struct ckpt_capture *capture;
	struct ckpt_restore *restore;
	struct ckpt_l0 *l0;		/* of a holder; set once */
};

/* True if the caller may have a context and choose its target. */
bool ckpt_ctx_permitted(void);
struct ckpt_ctx *ckpt_ctx_create(void);
struct ckpt_ctx *ckpt_ctx_get(struct ckpt_ctx *ctx);
void ckpt_ctx_put(struct ckpt_ctx *ctx);
enum ckpt_phase ckpt_ctx_phase(struct ckpt_ctx *ctx);
/* Change the phase; false and no change if it is not @from now. */
bool ckpt_ctx_advance(struct ckpt_ctx *ctx, enum ckpt_phase from, enum ckpt_phase to);

/* The ends of the capture and restore sides: called once from release(), in process context. */
void ckpt_capture_release(struct ckpt_ctx *ctx);	/* thaw, drop, free */
void ckpt_restore_release(struct ckpt_ctx *ctx);	/* kill if uncommitted, free */

#endif /* _CKPT_CONTEXT_H */
