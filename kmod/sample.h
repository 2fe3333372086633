/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of where threads are.
 */
#ifndef _CKPT_SAMPLE_H
#define _CKPT_SAMPLE_H

struct ckpt_ctx;
struct ckpt_sample;

/* The command; called with cmd_lock held. */
int ckpt_capture_sample(struct ckpt_ctx *ctx, struct ckpt_sample *arg);

#endif /* _CKPT_SAMPLE_H */
