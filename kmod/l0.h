/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Snapshots that outlive their capture, for a rollback (ckpt_l0.h).
 *
 * A holder is a context in CKPT_PHASE_HOLDER; ctx->l0 is set once, before that phase. Snapshots are
 * found by the map that they were taken of.
 */
#ifndef _CKPT_L0_H
#define _CKPT_L0_H

#include <linux/ckpt.h>

struct ckpt_ctx;
struct mm_struct;

int ckpt_l0_init(void);
/* There is no holder any more, as each holds the module; waits for what is still freed. */
void ckpt_l0_exit(void);

/* The commands; STATE needs no lock of the context. */
int ckpt_l0_keep(struct ckpt_ctx *ctx, struct ckpt_l0_keep *arg);
int ckpt_l0_state(struct ckpt_ctx *ctx, struct ckpt_l0_state *arg);
int ckpt_l0_find(struct ckpt_ctx *ctx, struct ckpt_l0_find *arg);

/*
 * The snapshot kept of @mm does not count any more: nothing can say which pages differ from it.
 * It is freed later, or with @wait now. Returns whether there was one.
 */
bool ckpt_l0_forget(struct mm_struct *mm, bool wait);
/* Has the holder given its snapshots up? */
bool ckpt_l0_is_over(struct ckpt_ctx *ctx);
/* The file of a holder is closed: its snapshots are freed, behind the caller's back. */
void ckpt_l0_release(struct ckpt_ctx *ctx);

#endif /* _CKPT_L0_H */
