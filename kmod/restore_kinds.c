// SPDX-License-Identifier: GPL-2.0-only
/*
 * The records that a restore gives back: how long each is at least, and who applies it.
 *
 * The functions adapt the owners of the records, which know neither the stream nor its headers.  A
 * variable part is checked here or by its owner, never trusted.
 */
#include <linux/kernel.h>

#include "collect_kind.h"
#include "restore.h"
#include "uring.h"

static int ckpt_apply_proc(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			   const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_proc(ctx, thread, (const void *)hdr);
}

static int ckpt_apply_thread(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			     const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_thread(ctx, thread, (const void *)hdr);
}

static int ckpt_apply_sigactions(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
				 const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_sigactions(thread, (const void *)hdr);
}

static int ckpt_apply_signal(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			     const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_signal(thread, (const void *)hdr);
}

static int ckpt_apply_timer(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			    const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_timer(thread, (const void *)hdr);
}

static int ckpt_apply_epoll(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			    const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_epoll((const void *)hdr);
}

static int ckpt_apply_signalfd(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			       const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_signalfd(thread, (const void *)hdr);
}

static int ckpt_apply_uring(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			    const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_uring((const void *)hdr);
}

static int ckpt_apply_mq_notify(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
				const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_mq_notify(thread, (const void *)hdr);
}

static int ckpt_apply_sock_creds(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
				 const struct ckpt_rec_hdr *hdr)
{
	return ckpt_restore_sock_creds(ctx, (const void *)hdr);
}

static int ckpt_apply_xstate(struct ckpt_ctx *ctx, struct ckpt_thread *thread,
			     const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_xstate *xstate = (const void *)hdr;

	if (xstate->size > hdr->len - sizeof(*xstate))
		return -EINVAL;
	return ckpt_restore_xstate(thread, xstate + 1, xstate->size);
}

static const struct ckpt_restore_kind ckpt_restore_kinds[] = {
	{ CKPT_REC_PROC, sizeof(struct ckpt_rec_proc), ckpt_apply_proc },
	{ CKPT_REC_THREAD, sizeof(struct ckpt_rec_thread), ckpt_apply_thread },
	{ CKPT_REC_XSTATE, sizeof(struct ckpt_rec_xstate), ckpt_apply_xstate },
	{ CKPT_REC_SIGACTIONS, sizeof(struct ckpt_rec_sigactions), ckpt_apply_sigactions },
	{ CKPT_REC_SIGPENDING, sizeof(struct ckpt_rec_sigpending), ckpt_apply_signal },
	{ CKPT_REC_TIMER, sizeof(struct ckpt_rec_timer), ckpt_apply_timer },
	{ CKPT_REC_EPOLL, sizeof(struct ckpt_rec_epoll), ckpt_apply_epoll },
	{ CKPT_REC_SIGNALFD, sizeof(struct ckpt_rec_signalfd), ckpt_apply_signalfd },
	{ CKPT_REC_SOCK_CREDS, sizeof(struct ckpt_rec_sock_creds), ckpt_apply_sock_creds },
	{ CKPT_REC_URING, sizeof(struct ckpt_rec_uring), ckpt_apply_uring },
	{ CKPT_REC_MQ_NOTIFY, sizeof(struct ckpt_rec_mq_notify), ckpt_apply_mq_notify },
	{ CKPT_REC_MM, sizeof(struct ckpt_rec_mm) },
	{ CKPT_REC_PKEYS, sizeof(struct ckpt_rec_pkeys) },
	{ CKPT_REC_AIO, sizeof(struct ckpt_rec_aio) },
	{ CKPT_REC_VMA, sizeof(struct ckpt_rec_vma) },
	{ CKPT_REC_MEMPOLICY, sizeof(struct ckpt_rec_mempolicy) },
	{ CKPT_REC_FD, sizeof(struct ckpt_rec_fd) },
	{ CKPT_REC_LOCK, sizeof(struct ckpt_rec_lock) },
};

const struct ckpt_restore_kind *ckpt_restore_kind_of(u16 type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ckpt_restore_kinds); i++)
		if (ckpt_restore_kinds[i].type == type)
			return &ckpt_restore_kinds[i];
	return NULL;
}
