/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture side: target, freeze, snapshot, read-out, thaw.
 *
 * struct ckpt_capture hangs on the context from CKPT_IOC_TARGET to release.
 * cmd_lock protects it unless a field says otherwise.
 */
#ifndef _CKPT_CAPTURE_H
#define _CKPT_CAPTURE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/ckpt.h>

#include "context.h"
#include "objects.h"
#include "owner.h"
#include "tree.h"

struct ckpt_records;
struct mm_struct;
struct task_struct;

#define CKPT_MAX_THREADS	32768
#define CKPT_MAX_PAUSE_MS	600000

struct ckpt_capture {
	struct ckpt_ctx *ctx;
	struct ckpt_tree tree;
	struct ckpt_owner owner;	/* for whom the tree is captured */
	struct ckpt_objects objects;	/* filled by the snapshot; files are let go at the thaw */

	struct ckpt_records *refusals;
	unsigned int nr_refusals;
	bool hard;			/* there is a refusal that a new attempt does not lift */

	/* The maximum pause. armed: under ctx->lock. */
	struct delayed_work expiry;
	u64 max_pause_ns;
	bool armed;
	bool expiry_noted;		/* the records report the expiry */
	struct work_struct cleanup;	/* after an expiry */
	/*
	 * Held while state is read, or (for reading) in a clone that changes mappings. The expiry
	 * waits for it.
	 */
	struct rw_semaphore collecting;

	/* Memory watch while a snapshot is held. */
	struct delayed_work watch;
	unsigned int watch_age;		/* looks since the counters of cgroups were flushed */
	bool watching;
	bool has_snapshot;
	bool track;			/* track writes to the cloned maps */
	bool lost;			/* memory ran short, the snapshot is dropped */
};

/* The commands; all are called with cmd_lock held. */
int ckpt_capture_target(struct ckpt_ctx *ctx, struct ckpt_target *arg);
int ckpt_capture_freeze(struct ckpt_ctx *ctx, struct ckpt_freeze *arg);
int ckpt_capture_snapshot(struct ckpt_ctx *ctx, struct ckpt_snapshot *arg);
int ckpt_capture_thaw(struct ckpt_ctx *ctx, struct ckpt_thaw *arg);
int ckpt_capture_pagemap(struct ckpt_ctx *ctx, struct ckpt_pagemap *arg);
int ckpt_capture_pages_read(struct ckpt_ctx *ctx, struct ckpt_pages *arg);
int ckpt_capture_file_get(struct ckpt_ctx *ctx, struct ckpt_file_get *arg);
int ckpt_capture_tty_peek(struct ckpt_ctx *ctx, struct ckpt_tty_peek *arg);
/* mqueue.c; needs no capture, but for the directory */
int ckpt_mq_peek(struct ckpt_ctx *ctx, struct ckpt_mq_peek *arg);
int ckpt_capture_drop(struct ckpt_ctx *ctx, struct ckpt_drop *arg);

/* Before read(2): if the maximum pause passed, make the records say so. */
void ckpt_capture_note_expiry(struct ckpt_ctx *ctx);
/* 0, or the error of a command that needs phase @a or @b and finds another one. */
int ckpt_capture_expect(struct ckpt_ctx *ctx, enum ckpt_phase a, enum ckpt_phase b);
/* True if the maximum pause has passed; the tree may be running. */
bool ckpt_capture_expired(struct ckpt_ctx *ctx);
/* Give everything back that the last freeze took, thaw, and forget it. */
void ckpt_capture_undo(struct ckpt_ctx *ctx);

/*
 * Forget the capture and let its threads stay parked: they are those of a restore now, and the
 * phase and the maximum pause say so already. Lets go of all objects that were collected.
 */
void ckpt_capture_hand_over(struct ckpt_ctx *ctx);

/* Begin, or end, the count of the maximum pause. */
void ckpt_capture_arm(struct ckpt_capture *cap, u64 max_pause_ns);
void ckpt_capture_disarm(struct ckpt_capture *cap);

/* refuse.c: note one finding that stands in the way of the capture; may sleep. */
__printf(5, 6)
void ckpt_refuse(struct ckpt_capture *cap, enum ckpt_reason reason,
		 struct task_struct *task, u64 object, const char *fmt, ...);
/* As ckpt_refuse(), with a pid in the caller's PID namespace instead of a task. */
__printf(4, 5)
void ckpt_refuse_pid(struct ckpt_ctx *ctx, enum ckpt_reason reason, pid_t pid,
		     const char *fmt, ...);
/*
 * If there are refusals, let read(2) yield them and return -EOPNOTSUPP or -EBUSY; else 0.
 */
int ckpt_refuse_verdict(struct ckpt_capture *cap);
void ckpt_refuse_reset(struct ckpt_capture *cap);

#endif /* _CKPT_CAPTURE_H */
