/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints for every transition of a context or a thread; each has the context's number.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ckpt

#if !defined(_CKPT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _CKPT_TRACE_H

#include <linux/tracepoint.h>

#include "context.h"

TRACE_EVENT(ckpt_phase,
	TP_PROTO(const struct ckpt_ctx *ctx, unsigned int from, unsigned int to),
	TP_ARGS(ctx, from, to),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(unsigned int, from)
		__field(unsigned int, to)
		__field(unsigned int, threads)
		__field(unsigned int, parked)
	),
	TP_fast_assign(
		__entry->id = ctx->id;
		__entry->from = from;
		__entry->to = to;
		__entry->threads = ctx->nr_threads;
		__entry->parked = ctx->nr_parked;
	),
	TP_printk("ctx=%llu phase=%u->%u threads=%u parked=%u", __entry->id,
		  __entry->from, __entry->to, __entry->threads, __entry->parked)
);

DECLARE_EVENT_CLASS(ckpt_thread,
	TP_PROTO(const struct ckpt_ctx *ctx, pid_t tid),
	TP_ARGS(ctx, tid),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(pid_t, tid)
	),
	TP_fast_assign(
		__entry->id = ctx->id;
		__entry->tid = tid;
	),
	TP_printk("ctx=%llu tid=%d", __entry->id, __entry->tid)
);

DEFINE_EVENT(ckpt_thread, ckpt_thread_queue,
	TP_PROTO(const struct ckpt_ctx *ctx, pid_t tid), TP_ARGS(ctx, tid));
DEFINE_EVENT(ckpt_thread, ckpt_thread_park,
	TP_PROTO(const struct ckpt_ctx *ctx, pid_t tid), TP_ARGS(ctx, tid));
DEFINE_EVENT(ckpt_thread, ckpt_thread_leave,
	TP_PROTO(const struct ckpt_ctx *ctx, pid_t tid), TP_ARGS(ctx, tid));

TRACE_EVENT(ckpt_freeze_round,
	TP_PROTO(const struct ckpt_ctx *ctx, unsigned int round, unsigned int fresh,
		 unsigned int waiting),
	TP_ARGS(ctx, round, fresh, waiting),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(unsigned int, round)
		__field(unsigned int, fresh)
		__field(unsigned int, waiting)
	),
	TP_fast_assign(
		__entry->id = ctx->id;
		__entry->round = round;
		__entry->fresh = fresh;
		__entry->waiting = waiting;
	),
	TP_printk("ctx=%llu round=%u fresh=%u waiting=%u", __entry->id,
		  __entry->round, __entry->fresh, __entry->waiting)
);

TRACE_EVENT(ckpt_refusal,
	TP_PROTO(const struct ckpt_ctx *ctx, unsigned int reason, pid_t pid, pid_t tid,
		 u64 object),
	TP_ARGS(ctx, reason, pid, tid, object),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(unsigned int, reason)
		__field(pid_t, pid)
		__field(pid_t, tid)
		__field(u64, object)
	),
	TP_fast_assign(
		__entry->id = ctx->id;
		__entry->reason = reason;
		__entry->pid = pid;
		__entry->tid = tid;
		__entry->object = object;
	),
	TP_printk("ctx=%llu reason=%u pid=%d tid=%d object=%#llx", __entry->id,
		  __entry->reason, __entry->pid, __entry->tid, __entry->object)
);

TRACE_EVENT(ckpt_snapshot,
	TP_PROTO(const struct ckpt_ctx *ctx, const char *step, u64 ns, int err),
	TP_ARGS(ctx, step, ns, err),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, ns)
		__field(int, err)
		__string(step, step)
	),
	TP_fast_assign(
		__entry->id = ctx->id;
		__entry->ns = ns;
		__entry->err = err;
		ckpt_assign_str(step, step);
	),
	TP_printk("ctx=%llu %s ns=%llu err=%d", __entry->id, __get_str(step),
		  __entry->ns, __entry->err)
);

#endif /* _CKPT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
