/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State that a kernel has or has not, by its configuration or its age: what is
 * not there answers "none".
 */
#ifndef _CKPT_COMPAT_OPTIONAL_H
#define _CKPT_COMPAT_OPTIONAL_H

#include <linux/io_uring_types.h>
#include <linux/iocontext.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/xarray.h>

static inline int ckpt_task_seccomp_mode(const struct task_struct *task)
{
#ifdef CONFIG_SECCOMP
	return task->seccomp.mode;
#else
	return 0;
#endif
}

static inline bool ckpt_task_has_mempolicy(const struct task_struct *task)
{
#ifdef CONFIG_NUMA
	return task->mempolicy;
#else
	return false;
#endif
}

static inline bool ckpt_task_has_io_uring(const struct task_struct *task)
{
#ifdef CONFIG_IO_URING
	return task->io_uring && !xa_empty(&task->io_uring->xa);
#else
	return false;
#endif
}

static inline u32 ckpt_task_ioprio(struct task_struct *task)
{
	u32 ioprio = 0;
#ifdef CONFIG_BLOCK
	task_lock(task);
	if (task->io_context)
		ioprio = task->io_context->ioprio;
	task_unlock(task);
#endif
	return ioprio;
}

static inline bool ckpt_vma_has_userfaultfd(const struct vm_area_struct *vma)
{
#ifdef CONFIG_USERFAULTFD
	return vma->vm_userfaultfd_ctx.ctx;
#else
	return false;
#endif
}

static inline bool ckpt_vma_has_mempolicy(const struct vm_area_struct *vma)
{
#ifdef CONFIG_NUMA
	return vma->vm_policy;
#else
	return false;
#endif
}

static inline bool ckpt_vma_is_shadow_stack(const struct vm_area_struct *vma)
{
#ifdef VM_SHADOW_STACK
	return vma->vm_flags & VM_SHADOW_STACK;
#else
	return false;
#endif
}

static inline bool ckpt_vma_is_sealed(const struct vm_area_struct *vma)
{
#ifdef VM_SEALED
	return vma->vm_flags & VM_SEALED;
#else
	return false;
#endif
}

/* Copy the name given with PR_SET_VMA_ANON_NAME, if there is one. */
static inline void ckpt_vma_anon_name(const struct vm_area_struct *vma, char *name,
				      size_t size)
{
#ifdef CONFIG_ANON_VMA_NAME
	if (vma->anon_name)
		strscpy(name, vma->anon_name->name, size);
#endif
}

#endif /* _CKPT_COMPAT_OPTIONAL_H */
