/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private undo list of semaphores, which ipc/sem.c does not export.
 */
#ifndef _CKPT_COMPAT_SEM_H
#define _CKPT_COMPAT_SEM_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "layout.h"

/* The structure is the same from 2.6 to 6.12. */
struct ckpt_sem_undo_list {
	refcount_t refcnt;
	spinlock_t lock;
	struct list_head list_proc;
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
