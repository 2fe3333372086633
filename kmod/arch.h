/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that depend on the processor's architecture.
 */
#ifndef _CKPT_ARCH_H
#define _CKPT_ARCH_H

#include <linux/types.h>

struct ckpt_cpu;
struct ckpt_info;
struct ckpt_sample_thread;
struct mm_struct;
struct task_struct;

/* Words of ckpt_rec_thread.regs, which has the order of struct user_regs_struct. */
#define CKPT_REG_AX		10
#define CKPT_REG_ORIG_AX	15
#define CKPT_REG_IP		16
#define CKPT_REG_CS		17
#define CKPT_REG_SP		19
#define CKPT_REG_FS_BASE	21
#define CKPT_REG_GS_BASE	22

/* Fill xstate_size, vdso_size, vvar_size, xfeatures and cpu of @info, as the caller sees them. */
void ckpt_arch_info(struct ckpt_info *info);
/* Fill @cpu, which is zeroed. */
void ckpt_arch_cpu(struct ckpt_cpu *cpu);
/* Sizes of the vDSO of @mm and of the data before it; untouched if it has none. */
void ckpt_arch_vdso(const struct mm_struct *mm, u32 *ret_vdso, u32 *ret_vvar);
/*
 * True if @task, whose AX is @ax, will go on by the restart block of a 32-bit system call, which
 * 64-bit programs can make, too.  It depends on how the call was entered, which no record keeps.
 */
bool ckpt_arch_restarts_32(const struct task_struct *task, u64 ax);

/*
 * Fill ip, sp, preserved and syscall of @out from the registers with which @task, which is current
 * in an interrupt, or off its CPU, left user mode.  False: it has none.  Does not sleep.
 */
bool ckpt_arch_sample(struct task_struct *task, struct ckpt_sample_thread *out);

#endif /* _CKPT_ARCH_H */
