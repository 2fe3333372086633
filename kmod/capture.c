// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a capture: target, thaw, drop, release, and the maximum pause.
 *
 * Two parties may end a pause: a command (or release), which holds cmd_lock, and
 * the expiry work, which must not wait for a command that user space can delay.
 * The expiry changes the phase first, waits only for state being read or mappings
 * being changed (cap->collecting, never held while touching user space), and lets the
 * threads go.  Whoever holds cmd_lock sees the phase and cleans up.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "capture.h"
#include "context.h"
#include "events.h"
#include "freeze.h"
#include "records.h"
#include "thread.h"
#include "trace.h"
#include "watch.h"

/* ------------------------------------------------------ the maximum pause */

bool ckpt_capture_expired(struct ckpt_ctx *ctx)
{
	return READ_ONCE(ctx->phase) == CKPT_PHASE_EXPIRED;
}

static void ckpt_capture_expire(struct work_struct *work)
{
	struct ckpt_capture *cap = container_of(to_delayed_work(work),
						struct ckpt_capture, expiry);
	struct ckpt_ctx *ctx = cap->ctx;
	u64 end, now;

	spin_lock(&ctx->lock);
	if (!cap->armed) {
		spin_unlock(&ctx->lock);
		return;
	}
	now = ktime_get_ns();
	end = (ctx->parked_since ?: now) + cap->max_pause_ns;
	if (now < end) {
		spin_unlock(&ctx->lock);
		queue_delayed_work(system_highpri_wq, &cap->expiry,
				   nsecs_to_jiffies(end - now) + 1);
		return;
	}
	cap->armed = false;
	trace_ckpt_phase(ctx, ctx->phase, CKPT_PHASE_EXPIRED);
	WRITE_ONCE(ctx->phase, CKPT_PHASE_EXPIRED);
	spin_unlock(&ctx->lock);

	down_write(&cap->collecting);
	ckpt_threads_unhold(ctx);
	ckpt_threads_thaw(ctx);
	up_write(&cap->collecting);
	ckpt_event(ctx, CKPT_EVENT_EXPIRED, 0);
	queue_work(system_unbound_wq, &cap->cleanup);
}

/* Clean up after the pause expired; unlike the expiry, this work may wait for a command. */
static void ckpt_capture_cleanup(struct work_struct *work)
{
	struct ckpt_capture *cap = container_of(work, struct ckpt_capture, cleanup);

	down_write(&cap->ctx->cmd_lock);
	if (ckpt_capture_expired(cap->ctx)) {
		ckpt_objects_reset(&cap->objects);
		ckpt_threads_reap(cap->ctx);
	}
	up_write(&cap->ctx->cmd_lock);
}

void ckpt_capture_arm(struct ckpt_capture *cap, u64 max_pause_ns)
{
	cap->max_pause_ns = max_pause_ns;
	spin_lock(&cap->ctx->lock);
	cap->armed = true;
	spin_unlock(&cap->ctx->lock);
	mod_delayed_work(system_highpri_wq, &cap->expiry,
			 nsecs_to_jiffies(max_pause_ns) + 1);
}

void ckpt_capture_disarm(struct ckpt_capture *cap)
{
	spin_lock(&cap->ctx->lock);
	cap->armed = false;
	spin_unlock(&cap->ctx->lock);
	cancel_delayed_work_sync(&cap->expiry);
}

void ckpt_capture_note_expiry(struct ckpt_ctx *ctx)
{
	struct ckpt_capture *cap = ctx->capture;

	lockdep_assert_held(&ctx->cmd_lock);
	if (!cap || cap->expiry_noted || !ckpt_capture_expired(ctx))
		return;
	cap->expiry_noted = true;
	ckpt_refuse_reset(cap);
	ckpt_refuse(cap, CKPT_R_PAUSE_LIMIT, NULL, 0, "%llu ms",
		    div_u64(cap->max_pause_ns, NSEC_PER_MSEC));
	ckpt_refuse_verdict(cap);
}

/* ----------------------------------------------------------------- phases */

int ckpt_capture_expect(struct ckpt_ctx *ctx, enum ckpt_phase a, enum ckpt_phase b)
{
	enum ckpt_phase phase = ckpt_ctx_phase(ctx);

	lockdep_assert_held(&ctx->cmd_lock);
	if (phase == a || phase == b)
		return 0;
	return phase == CKPT_PHASE_EXPIRED ? -ETIMEDOUT : -EBADFD;
}

void ckpt_capture_undo(struct ckpt_ctx *ctx)
{
	struct ckpt_capture *cap = ctx->capture;

	ckpt_capture_disarm(cap);
	ckpt_watch_stop(cap);
	ckpt_objects_thaw(&cap->objects);
	ckpt_threads_unhold(ctx);
	ckpt_threads_thaw(ctx);
	ckpt_threads_reap(ctx);
	ckpt_objects_reset(&cap->objects);
	ckpt_tree_forget(&cap->tree);
}

/* Free the data of the capture, whose threads are let go, or somebody else's. */
static void ckpt_capture_forget(struct ckpt_ctx *ctx)
{
	struct ckpt_capture *cap = ctx->capture;

	ckpt_objects_free(&cap->objects);
	ckpt_tree_free(&cap->tree);
	ckpt_owner_free(&cap->owner);
	ckpt_records_destroy(cap->refusals);
	ctx->capture = NULL;
	kfree(cap);
}

static void ckpt_capture_free(struct ckpt_ctx *ctx)
{
	if (ctx->capture->objects.buckets)
		ckpt_capture_undo(ctx);
	ckpt_capture_forget(ctx);
}

void ckpt_capture_hand_over(struct ckpt_ctx *ctx)
{
	ckpt_watch_stop(ctx->capture);
	ckpt_records_reset(ctx->records);
	ckpt_tree_forget(&ctx->capture->tree);
	ckpt_capture_forget(ctx);
}

int ckpt_capture_target(struct ckpt_ctx *ctx, struct ckpt_target *arg)
{
	struct ckpt_capture *cap;
	int err;

	/* the process may have dropped its rights since it opened the device */
	if (!ckpt_ctx_permitted())
		return -EPERM;
	err = ckpt_capture_expect(ctx, CKPT_PHASE_NEW, CKPT_PHASE_NEW);
	if (err)
		return err;
	cap = kzalloc(sizeof(*cap), GFP_KERNEL_ACCOUNT);
	if (!cap)
		return -ENOMEM;
	cap->ctx = ctx;
	init_rwsem(&cap->collecting);
	INIT_DELAYED_WORK(&cap->expiry, ckpt_capture_expire);
	INIT_WORK(&cap->cleanup, ckpt_capture_cleanup);
	ckpt_watch_init(cap);
	ctx->capture = cap;
	cap->refusals = ckpt_records_create();
	if (!ctx->records)
		ctx->records = ckpt_records_create();
	if (!cap->refusals || !ctx->records || ckpt_objects_init(&cap->objects)) {
		err = -ENOMEM;
		goto err_free;
	}
	ckpt_records_reset(ctx->records);
	err = ckpt_owner_init(&cap->owner, arg, ctx);
	if (!err)
		err = ckpt_tree_init(&cap->tree, arg, ctx);
	if (!err)
		err = ckpt_refuse_verdict(cap);
	if (err)
		goto err_free;
	trace_ckpt_phase(ctx, CKPT_PHASE_NEW, CKPT_PHASE_TARGET);
	ckpt_ctx_advance(ctx, CKPT_PHASE_NEW, CKPT_PHASE_TARGET);
	return 0;

err_free:
	ckpt_capture_free(ctx);
	return err;
}

int ckpt_capture_thaw(struct ckpt_ctx *ctx, struct ckpt_thaw *arg)
{
	struct ckpt_capture *cap = ctx->capture;
	enum ckpt_phase phase;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_FROZEN, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	ckpt_capture_disarm(cap);
	phase = ckpt_ctx_phase(ctx);
	if (phase == CKPT_PHASE_EXPIRED)
		return -ETIMEDOUT;
	ckpt_refuse_reset(cap);
	if (phase == CKPT_PHASE_COLLECTED)
		ckpt_freeze_verify_alive(cap);
	if (cap->nr_refusals)
		arg->flags &= ~CKPT_THAW_KILL; /* the capture is worth nothing: the rest lives on */
	ckpt_watch_start(cap);
	/* before the thaw: a file that the job then closes is really closed, and its lock free */
	ckpt_objects_thaw(&cap->objects);
	trace_ckpt_phase(ctx, phase, CKPT_PHASE_THAWED);
	ckpt_ctx_advance(ctx, phase, CKPT_PHASE_THAWED);
	if (arg->flags & CKPT_THAW_KILL) {
		ckpt_threads_unhold(ctx);
		ckpt_threads_kill(ctx);
	} else {
		ckpt_threads_thaw(ctx);
	}
	/* parked_since is 0 if the whole tree is stopped: no thread parked */
	arg->pause_ns = ctx->parked_since ? ktime_get_ns() - ctx->parked_since : 0;
	ckpt_threads_reap(ctx);
	ckpt_objects_thawed(&cap->objects);
	ckpt_event(ctx, CKPT_EVENT_THAWED, arg->pause_ns);
	return cap->nr_refusals ? ckpt_refuse_verdict(cap) : 0;
}

int ckpt_capture_drop(struct ckpt_ctx *ctx, struct ckpt_drop *arg)
{
	struct ckpt_capture *cap = ctx->capture;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_THAWED, CKPT_PHASE_THAWED);
	if (err)
		return err;
	ckpt_watch_stop(cap);
	ckpt_objects_drop(&cap->objects);
	ckpt_threads_unhold(ctx);
	ckpt_threads_thaw(ctx);
	return 0;
}

void ckpt_capture_release(struct ckpt_ctx *ctx)
{
	struct ckpt_capture *cap = ctx->capture;

	if (!cap)
		return;
	ckpt_capture_disarm(cap);
	cancel_work_sync(&cap->cleanup);
	ckpt_capture_free(ctx);
}
