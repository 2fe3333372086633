// SPDX-License-Identifier: GPL-2.0-only
/*
 * Birth and death of contexts.
 *
 * A context outlives its file while threads still hold it: they may be on their
 * way out of the park, or be stopped with a callback queued that could not be
 * cancelled in time.  The data of the capture and restore sides is freed before that.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "context.h"
#include "records.h"

static atomic64_t ckpt_ctx_last_id = ATOMIC64_INIT(0);

bool ckpt_ctx_permitted(void)
{
	return capable(CAP_SYS_ADMIN) ||
	       (capable(CAP_CHECKPOINT_RESTORE) && capable(CAP_SYS_PTRACE));
}

struct ckpt_ctx *ckpt_ctx_create(void)
{
	struct ckpt_ctx *ctx = kvzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	kref_init(&ctx->ref);
	ctx->id = atomic64_inc_return(&ckpt_ctx_last_id);
	ctx->opener = task_tgid_nr(current);
	init_rwsem(&ctx->cmd_lock);
	spin_lock_init(&ctx->lock);
	ctx->phase = CKPT_PHASE_NEW;
	INIT_LIST_HEAD(&ctx->threads);
	hash_init(ctx->by_task);
	init_waitqueue_head(&ctx->wq);
	ctx->cred = get_current_cred();
	ctx->pid_ns = get_pid_ns(task_active_pid_ns(current));
	return ctx;
}

struct ckpt_ctx *ckpt_ctx_get(struct ckpt_ctx *ctx)
{
	kref_get(&ctx->ref);
	return ctx;
}

static void ckpt_ctx_free(struct kref *ref)
{
	struct ckpt_ctx *ctx = container_of(ref, struct ckpt_ctx, ref);

	WARN_ON_ONCE(!list_empty(&ctx->threads));
	ckpt_records_destroy(ctx->records);
	put_pid_ns(ctx->pid_ns);
	put_cred(ctx->cred);
	kvfree(ctx);
}

void ckpt_ctx_put(struct ckpt_ctx *ctx)
{
	kref_put(&ctx->ref, ckpt_ctx_free);
}

enum ckpt_phase ckpt_ctx_phase(struct ckpt_ctx *ctx)
{
	return READ_ONCE(ctx->phase);
}

bool ckpt_ctx_advance(struct ckpt_ctx *ctx, enum ckpt_phase from, enum ckpt_phase to)
{
	bool ok;

	spin_lock(&ctx->lock);
	ok = ctx->phase == from;
	if (ok)
		WRITE_ONCE(ctx->phase, to);
	spin_unlock(&ctx->lock);
	return ok;
}
