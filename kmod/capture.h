/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capture side: target, freeze, snapshot, read-out, thaw.
 */
#ifndef _CKPT_CAPTURE_H
#define _CKPT_CAPTURE_H

#include <linux/types.h>

struct ckpt_ctx;
struct ckpt_target;
struct ckpt_freeze;
struct ckpt_snapshot;
struct ckpt_thaw;
struct ckpt_pagemap;
struct ckpt_pages;
struct ckpt_file_get;
struct ckpt_drop;

#define CKPT_MAX_THREADS	32768
#define CKPT_MAX_PAUSE_MS	600000

/* The commands; all are called with cmd_lock held. */
int ckpt_capture_target(struct ckpt_ctx *ctx, struct ckpt_target *arg);
int ckpt_capture_freeze(struct ckpt_ctx *ctx, struct ckpt_freeze *arg);
int ckpt_capture_snapshot(struct ckpt_ctx *ctx, struct ckpt_snapshot *arg);
int ckpt_capture_thaw(struct ckpt_ctx *ctx, struct ckpt_thaw *arg);
int ckpt_capture_pagemap(struct ckpt_ctx *ctx, struct ckpt_pagemap *arg);
int ckpt_capture_pages_read(struct ckpt_ctx *ctx, struct ckpt_pages *arg);
int ckpt_capture_file_get(struct ckpt_ctx *ctx, struct ckpt_file_get *arg);
int ckpt_capture_drop(struct ckpt_ctx *ctx, struct ckpt_drop *arg);

#endif /* _CKPT_CAPTURE_H */
