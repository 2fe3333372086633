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
 * Note who is stopped, and what for all that follows is.  A SIGCONT may come at any
 * time; who gets it parks, but may have taken a signal and its handler's frame before.
 */
void ckpt_freeze_note(struct ckpt_capture *cap);
/*
 * Check that the tree is as it was noted: every member parked, or stopped.  Refuses
 * what was killed, what was continued, and what is traced by now: of an attach comes a SIGSTOP.
 */
void ckpt_freeze_verify(struct ckpt_capture *cap);
/* Is one of the tree being killed? What is found of it then says nothing. */
bool ckpt_freeze_lost_any(const struct ckpt_capture *cap);
/* Only that nobody was killed: who was may have written to memory on the way out. */
void ckpt_freeze_verify_alive(struct ckpt_capture *cap);

#endif /* _CKPT_FREEZE_H */
