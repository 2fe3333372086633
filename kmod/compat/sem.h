/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private structures of System V objects, which ipc/ does not export: the undo list of semaphores,
 * a set, a segment.
 */
#ifndef _CKPT_COMPAT_SEM_H
#define _CKPT_COMPAT_SEM_H

#include <linux/ipc.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#include "layout.h"

/* The structure is the same from 2.6 to 6.12. */
struct ckpt_sem_undo_list {
	refcount_t refcnt;
	spinlock_t lock;
	struct list_head list_proc;
};

struct ckpt_sem_undo {
	struct list_head list_proc;	/* of the process: struct ckpt_sem_undo_list */
	struct rcu_head rcu;
	void *ulp;
	struct list_head list_id;
	int semid;			/* -1: the set is gone */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	short semadj[];
#else
	short *semadj;
#endif
};

/* The beginning of a set. */
struct ckpt_sem_array {
	struct kern_ipc_perm sem_perm;
	time64_t sem_ctime;
	struct list_head pending_alter;
	struct list_head pending_const;
	struct list_head list_id;
	int sem_nsems;
};

/* The beginning of a segment. */
struct ckpt_shm {
	struct kern_ipc_perm shm_perm;
	struct file *shm_file;
	unsigned long shm_nattch;
	unsigned long shm_segsz;
	time64_t shm_atim;
	time64_t shm_dtim;
	time64_t shm_ctim;
	struct pid *shm_cprid;		/* creator */
	struct pid *shm_lprid;		/* who attached or detached last */
};

/*
 * True if the (frozen) task has operations to undo.  Threads share a list from their creation on
 * (CLONE_SYSVSEM), so the list alone says nothing; if this kernel's list is not known, having one
 * counts.
 */
static inline bool ckpt_task_has_sem_undo(struct task_struct *task)
{
#ifdef CONFIG_SYSVIPC
	const struct ckpt_sem_undo_list *undo = (const void *)task->sysvsem.undo_list;

	return undo && !(ckpt_layout_fits(CKPT_LAYOUT_SEM_UNDO) && list_empty(&undo->list_proc));
#else
	return false;
#endif
}

#endif /* _CKPT_COMPAT_SEM_H */
