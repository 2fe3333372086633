/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parking every thread of a tree.
 */
#ifndef _CKPT_FREEZE_H
#define _CKPT_FREEZE_H

#include <linux/types.h>

struct ckpt_capture;
struct task_struct;

/* True if the task has stopped in a group stop. */
bool ckpt_freeze_is_stopped(struct task_struct *task);
/*
 * Note which threads are stopped; the rest of the capture takes them as stopped.  A SIGCONT may
 * come at any time; a thread that gets it parks, but may have taken a signal, with a handler's
 * frame, before it parks.
 */
void ckpt_freeze_note(struct ckpt_capture *cap);
/*
 * Check that the tree is as noted: every member parked, or stopped.  Refuses threads that were
 * killed or continued, and threads that are traced by now: an attach sends SIGSTOP.
 */
void ckpt_freeze_verify(struct ckpt_capture *cap);
/* True if a thread of the tree is being killed: findings about it then mean nothing. */
bool ckpt_freeze_lost_any(const struct ckpt_capture *cap);
/* Check only that nobody was killed: a dying thread may have written to memory on its way out. */
void ckpt_freeze_verify_alive(struct ckpt_capture *cap);

#endif /* _CKPT_FREEZE_H */
