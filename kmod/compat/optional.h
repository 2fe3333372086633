/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State that a kernel may lack, by its configuration or its age: the functions then answer
 * "none".
 */
#ifndef _CKPT_COMPAT_OPTIONAL_H
#define _CKPT_COMPAT_OPTIONAL_H

#include <linux/io_uring_types.h>
#include <linux/iocontext.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include <linux/ckpt.h>

#include "ksyms.h"

static inline int ckpt_task_seccomp_mode(const struct task_struct *task)
{
#ifdef CONFIG_SECCOMP
	return task->seccomp.mode;
#else
	return 0;
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

/* The CPUs that the cpuset of @task allows. */
static inline void ckpt_task_cpuset(struct task_struct *task, struct cpumask *ret)
{
#ifdef CONFIG_CPUSETS
	ckpt_k(cpuset_cpus_allowed)(task, ret);
#else
	cpumask_copy(ret, cpu_possible_mask);
#endif
}

/* True if the task handles its own system calls (PR_SET_SYSCALL_USER_DISPATCH). */
static inline bool ckpt_task_has_dispatch(struct task_struct *task)
{
#ifdef CONFIG_GENERIC_ENTRY
	return test_task_syscall_work(task, SYSCALL_USER_DISPATCH);
#else
	return false;
#endif
}

/* State of PR_SCHED_CORE, and utilization clamps of sched_setattr(2). */
static inline bool ckpt_task_has_core_cookie(const struct task_struct *task)
{
#ifdef CONFIG_SCHED_CORE
	return task->core_cookie;
#else
	return false;
#endif
}

static inline bool ckpt_task_has_uclamp(const struct task_struct *task)
{
#ifdef CONFIG_UCLAMP_TASK
	return task->uclamp_req[UCLAMP_MIN].user_defined ||
	       task->uclamp_req[UCLAMP_MAX].user_defined;
#else
	return false;
#endif
}

static inline bool ckpt_mm_has_ldt(const struct mm_struct *mm)
{
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	return mm->context.ldt;
#else
	return false;
#endif
}

/* Tagged addresses (ARCH_ENABLE_TAGGED_ADDR). */
static inline bool ckpt_mm_has_tags(const struct mm_struct *mm)
{
#ifdef CONFIG_ADDRESS_MASKING
	return mm->context.lam_cr3_mask;
#else
	return false;
#endif
}

static inline bool ckpt_mm_has_uprobes(const struct mm_struct *mm)
{
#ifdef CONFIG_UPROBES
	/* MMF_RECALC_UPROBES: the probes may be gone */
	return test_bit(MMF_HAS_UPROBES, &mm->flags) &&
	       !test_bit(MMF_RECALC_UPROBES, &mm->flags);
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

/*
 * Copy the name given with PR_SET_VMA_ANON_NAME, if there is one. Before 6.2 the field shares its
 * place with a field of file mappings, so file mappings have no name.
 */
static inline void ckpt_vma_anon_name(const struct vm_area_struct *vma, char *name,
				      size_t size)
{
#ifdef CONFIG_ANON_VMA_NAME
	if (vma->vm_file && offsetof(struct vm_area_struct, anon_name) ==
			    offsetof(struct vm_area_struct, shared))
		return;
	if (vma->anon_name)
		strscpy(name, vma->anon_name->name, size);
#endif
}

#ifdef CONFIG_ANON_VMA_NAME
static inline void ckpt_anon_name_free(struct kref *kref)
{
	kfree(container_of(kref, struct anon_vma_name, kref));
}
#endif

/* Set such a name in the caller's own map, as prctl(2) does; no-op in a kernel without names. */
static inline int ckpt_vma_set_anon_name(unsigned long start, unsigned long len,
					 const char *text)
{
#ifdef CONFIG_ANON_VMA_NAME
	struct anon_vma_name *name = ckpt_k(anon_vma_name_alloc)(text);
	int err;

	if (!name)
		return -ENOMEM;
	mmap_write_lock(current->mm);
	err = ckpt_k(madvise_set_anon_name)(current->mm, start, len, name);
	mmap_write_unlock(current->mm);
	kref_put(&name->kref, ckpt_anon_name_free);
	return err == -EBADF ? 0 : err;		/* shared memory has names from 6.2 on */
#else
	return 0;
#endif
}

#endif /* _CKPT_COMPAT_OPTIONAL_H */
