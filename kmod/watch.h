/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory watch: room for a snapshot, before it is made and while it is held.
 */
#ifndef _CKPT_WATCH_H
#define _CKPT_WATCH_H

#include <linux/types.h>

struct ckpt_capture;
struct task_struct;

#define CKPT_WATCH_MS	10	/* from one look to the next */

/*
 * Number of pages that @task's memory cgroup, its ancestors and the machine can still take;
 * *@ret_reserve is the part of these that a snapshot must not use.  The file pages among them are
 * known as of some moment within the last seconds, or with @flush as of now; that is expensive for
 * the whole machine.  May sleep.
 */
unsigned long ckpt_watch_room(struct task_struct *task, bool flush, unsigned long *ret_reserve);
/* As above, where memory.high is a limit as well: for memory that is not worth a job's delay. */
unsigned long ckpt_watch_room_high(struct task_struct *task, bool flush,
				   unsigned long *ret_reserve);
/* Pages that all processors together may copy in CKPT_WATCH_MS. */
unsigned long ckpt_watch_rate(void);
/* The cgroup that pages of @task are charged to; without a reference, only to compare with. */
const void *ckpt_watch_memcg(struct task_struct *task);

void ckpt_watch_init(struct ckpt_capture *cap);
/* If there is a snapshot, watch the job's memory until ckpt_watch_stop(). */
void ckpt_watch_start(struct ckpt_capture *cap);
void ckpt_watch_stop(struct ckpt_capture *cap);

#endif /* _CKPT_WATCH_H */
