// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refusals: every finding that stands in the way of a capture, all of them.
 *
 * Findings collect in a buffer of their own while a command runs.  At the end of the command the
 * verdict makes this buffer the one that read(2) reads.  The number of findings is bounded; the
 * caller learns of the first thousand.
 */
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "capture.h"
#include "context.h"
#include "records.h"
#include "trace.h"

#define CKPT_MAX_REFUSALS	1000

/* True for reasons that may be gone at the next attempt. */
static bool ckpt_refuse_is_soft(enum ckpt_reason reason)
{
	switch (reason) {
	case CKPT_R_FORK_STORM:
	case CKPT_R_D_STATE:
	case CKPT_R_TRACED:
	case CKPT_R_VFORK:
	case CKPT_R_TIMEOUT:
	case CKPT_R_PAUSE_LIMIT:
	case CKPT_R_KILLED:
	case CKPT_R_RESTART_KIND:
	case CKPT_R_INSIDE:
	case CKPT_R_DELIVERY:
		return true;
	default:
		return false;
	}
}

/* True for a finding about what a rollback takes away in any case. */
static bool ckpt_refuse_is_taken_away(const struct ckpt_capture *cap, enum ckpt_reason reason)
{
	if (!(cap->tree.flags & CKPT_TARGET_ROLLBACK))
		return false;
	switch (reason) {
	case CKPT_R_POSIX_TIMER:
	case CKPT_R_AIO:
	case CKPT_R_DEVICE_MAP:
	case CKPT_R_FD_SOCKET:
	case CKPT_R_FD_EPOLL:
	case CKPT_R_FD_EVENTFD:
	case CKPT_R_FD_TIMERFD:
	case CKPT_R_FD_SIGNALFD:
	case CKPT_R_FD_INOTIFY:
	case CKPT_R_FD_DEVICE:
	case CKPT_R_FD_KIND:
	case CKPT_R_FD_OWNER:
	case CKPT_R_PIPE_PACKET:
	case CKPT_R_RESTART_KIND:
	case CKPT_R_INSIDE:
		return true;
	default:
		return false;
	}
}

static struct ckpt_rec_refusal *ckpt_refuse_add(struct ckpt_capture *cap,
						enum ckpt_reason reason)
{
	struct ckpt_rec_refusal *rec;

	if (ckpt_refuse_is_taken_away(cap, reason))
		return NULL;
	cap->nr_refusals++;
	if (!ckpt_refuse_is_soft(reason))
		cap->hard = true;
	if (cap->nr_refusals > CKPT_MAX_REFUSALS)
		return NULL;
	rec = ckpt_records_add(cap->refusals, CKPT_REC_REFUSAL, sizeof(*rec));
	if (rec)
		rec->reason = reason;
	return rec;
}

void ckpt_refuse(struct ckpt_capture *cap, enum ckpt_reason reason,
		 struct task_struct *task, u64 object, const char *fmt, ...)
{
	struct ckpt_rec_refusal *rec = ckpt_refuse_add(cap, reason);
	struct pid_namespace *ns = cap->ctx->pid_ns;
	va_list args;

	if (!rec)
		return;
	if (task) {
		rec->pid = task_tgid_nr_ns(task, ns);
		rec->tid = task_pid_nr_ns(task, ns);
		get_task_comm(rec->comm, task);
	}
	rec->object = object;
	va_start(args, fmt);
	vscnprintf(rec->detail, sizeof(rec->detail), fmt, args);
	va_end(args);
	trace_ckpt_refusal(cap->ctx, reason, rec->pid, rec->tid, object);
}

void ckpt_refuse_pid(struct ckpt_ctx *ctx, enum ckpt_reason reason, pid_t pid,
		     const char *fmt, ...)
{
	struct ckpt_rec_refusal *rec = ckpt_refuse_add(ctx->capture, reason);
	va_list args;

	if (!rec)
		return;
	rec->pid = pid;
	va_start(args, fmt);
	vscnprintf(rec->detail, sizeof(rec->detail), fmt, args);
	va_end(args);
	trace_ckpt_refusal(ctx, reason, pid, 0, 0);
}

void ckpt_refuse_reset(struct ckpt_capture *cap)
{
	ckpt_records_reset(cap->refusals);
	cap->nr_refusals = 0;
	cap->hard = false;
}

int ckpt_refuse_verdict(struct ckpt_capture *cap)
{
	struct ckpt_ctx *ctx = cap->ctx;
	int err;

	if (!cap->nr_refusals)
		return 0;
	err = cap->hard ? -EOPNOTSUPP : -EBUSY;
	swap(ctx->records, cap->refusals);
	ckpt_refuse_reset(cap);
	return err;
}
