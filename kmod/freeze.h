/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parking every thread of a tree.
 */
#ifndef _CKPT_FREEZE_H
#define _CKPT_FREEZE_H

#include <linux/types.h>

struct ckpt_capture;
struct task_struct;

/* Is it in a group stop, all the way? */
bool ckpt_freeze_is_stopped(struct task_struct *task);
/*
 * Check that the tree is as the freeze left it: every member parked, or
 * stopped.  Refuses what was killed.
 */
void ckpt_freeze_verify(struct ckpt_capture *cap);

#endif /* _CKPT_FREEZE_H */
