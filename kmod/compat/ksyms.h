/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols that the kernel does not export, resolved once when the module loads.
 *
 * Functions are called through static calls: an indirect call to a function
 * whose ENDBR the kernel has sealed would panic on hardware with IBT.
 */
#ifndef _CKPT_COMPAT_KSYMS_H
#define _CKPT_COMPAT_KSYMS_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/cpuset.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/lsm_hooks.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mm_inline.h>
#include <linux/pagewalk.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rmap.h>
#include <linux/sched.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/security.h>
#include <linux/signal.h>
#include <linux/static_call.h>
#include <linux/swap.h>
#include <linux/syscalls.h>
#include <linux/task_work.h>

#include <asm/proto.h>

struct files_struct;
struct pt_regs;

typedef long ckpt_syscall_fn(const struct pt_regs *regs);

#define ckpt_k(name) static_call(ckpt_k_##name)

#define CKPT_KFUNC(name, type, why) DECLARE_STATIC_CALL(ckpt_k_##name, type);
#define CKPT_KDATA(name, type, why)
#include "ksyms.def"
#undef CKPT_KFUNC
#undef CKPT_KDATA

struct ckpt_kdata {
	unsigned long none;
#define CKPT_KFUNC(name, type, why)
#define CKPT_KDATA(name, type, why) typeof(type) *name;
#include "ksyms.def"
#undef CKPT_KFUNC
#undef CKPT_KDATA
};

extern struct ckpt_kdata ckpt_kdata;	/* read-only after init */

int ckpt_ksyms_init(void);

/* NULL if the task has been reaped; end with unlock_task_sighand(). */
#define ckpt_lock_sighand(task, flags)					\
	({								\
		struct sighand_struct *__sighand =			\
			ckpt_k(__lock_task_sighand)(task, flags);	\
		(void)__cond_lock(&(task)->sighand->siglock, __sighand); \
		__sighand;						\
	})

#endif /* _CKPT_COMPAT_KSYMS_H */
