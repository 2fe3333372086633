/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: is there room for a snapshot, and is there still?
 */
#ifndef _CKPT_WATCH_H
#define _CKPT_WATCH_H

#include <linux/types.h>

struct ckpt_capture;
struct task_struct;

/*
 * Pages that @task's memory cgroup, its ancestors and the machine can still
 * take; *@ret_reserve is the part of it that is not ours to use.  May sleep.
 */
unsigned long ckpt_watch_room(struct task_struct *task, unsigned long *ret_reserve);

void ckpt_watch_init(struct ckpt_capture *cap);
/* Watch the job's memory from now on, until stopped, if there is a snapshot. */
void ckpt_watch_start(struct ckpt_capture *cap);
void ckpt_watch_stop(struct ckpt_capture *cap);

#endif /* _CKPT_WATCH_H */
