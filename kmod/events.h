/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generic netlink family "ckpt": hints to its listeners.
 */
#ifndef _CKPT_EVENTS_H
#define _CKPT_EVENTS_H

#include <linux/types.h>

#include <linux/ckpt.h>

struct ckpt_ctx;

int ckpt_events_init(void);
void ckpt_events_exit(void);
/* Tell that something happened; may sleep, never fails. */
void ckpt_event(const struct ckpt_ctx *ctx, enum ckpt_event event, u64 value);

#endif /* _CKPT_EVENTS_H */
