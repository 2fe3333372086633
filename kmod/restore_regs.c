// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers and extended state of a parked thread, set through the kernel's regsets, which refuse
 * or sanitise values that user mode must not have.
 *
 * The state may be set only after ckpt_thread_settle(): before that it is still in the CPU.
 */
#include <linux/elf.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include <asm/cpufeature.h>
#include <asm/fpu/types.h>
#include <asm/fpu/xstate.h>
#include <asm/processor.h>

#include "arch.h"
#include "compat/ksyms.h"
#include "restore.h"
#include "thread.h"

static const struct user_regset *ckpt_regset_find(struct task_struct *task,
						  unsigned int note)
{
	const struct user_regset_view *view = task_user_regset_view(task);
	unsigned int i;

	for (i = 0; i < view->n; i++)
		if (view->regsets[i].core_note_type == note)
			return &view->regsets[i];
	return NULL;
}

/* True for an FS or GS base that only WRFSBASE or WRGSBASE can set, and no system call. */
static bool ckpt_base_is_high(u64 base)
{
	return base >= TASK_SIZE_MAX && boot_cpu_has(X86_FEATURE_FSGSBASE) &&
	       __is_canonical_address(base, __VIRTUAL_MASK_SHIFT + 1);
}

/*
 * Clear a high base for the regset, which would refuse it; true if the caller must set *@ret_high
 * in the thread, which is off its CPU.
 */
static bool ckpt_base_take(u64 *base, u64 *ret_high)
{
	*ret_high = *base;
	if (!ckpt_base_is_high(*base))
		return false;
	*base = 0;
	return true;
}

static int ckpt_regs_set(struct task_struct *task, const struct user_regset *regset,
			 const u64 *regs)
{
	u64 low[CKPT_NR_REGS], fs, gs;
	bool high_fs, high_gs;
	int err;

	memcpy(low, regs, sizeof(low));
	high_fs = ckpt_base_take(&low[CKPT_REG_FS_BASE], &fs);
	high_gs = ckpt_base_take(&low[CKPT_REG_GS_BASE], &gs);
	err = regset->set(task, regset, 0, sizeof(low), low, NULL);
	if (!err && high_fs)
		task->thread.fsbase = fs;
	if (!err && high_gs)
		task->thread.gsbase = gs;
	return err;
}

int ckpt_restore_regs(struct ckpt_thread *thread, const u64 *regs)
{
	const struct user_regset *regset = ckpt_regset_find(thread->task, NT_PRSTATUS);
	int err;

	BUILD_BUG_ON(sizeof(struct user_regs_struct) != CKPT_NR_REGS * sizeof(u64));
	if (!regset || !regset->set || regset->n * regset->size != CKPT_NR_REGS * sizeof(u64))
		return -EOPNOTSUPP;
	err = ckpt_thread_settle(thread);
	if (err)
		return err;
	/* the registers lie on the kernel stack, which a killed task frees */
	if (!try_get_task_stack(thread->task))
		return -ESRCH;
	err = ckpt_regs_set(thread->task, regset, regs);
	ckpt_k(put_task_stack)(thread->task);
	return err;
}

/* True if all register sets that a shorter area claims to hold lie in it, at this CPU's offsets. */
static bool ckpt_xstate_fits(const void *xstate, u32 size)
{
	const struct xstate_header *header = xstate + sizeof(struct fxregs_state);
	u32 len, offset, unused;
	unsigned int i;

	for (i = FIRST_EXTENDED_XFEATURE; i < 63; i++) {
		if (!(header->xfeatures & BIT_ULL(i)))
			continue;
		cpuid_count(XSTATE_CPUID, i, &len, &offset, &unused, &unused);
		if (offset + len > size)
			return false;
	}
	return true;
}

/*
 * An area shorter than this CPU's comes from a CPU with fewer features; the missing register sets
 * get their initial state.  The kernel checks header and MXCSR.
 */
int ckpt_restore_xstate(struct ckpt_thread *thread, const void *xstate, u32 size)
{
	const struct user_regset *regset = ckpt_regset_find(thread->task, NT_X86_XSTATE);
	u32 full;
	void *buf;
	int err;

	if (!regset || !regset->set)
		return -EOPNOTSUPP;
	full = regset->n * regset->size;
	if (size > full || size < sizeof(struct fxregs_state) + sizeof(struct xstate_header))
		return -EINVAL;
	if (size < full && !ckpt_xstate_fits(xstate, size))
		return -EINVAL;
	err = ckpt_thread_settle(thread);
	if (err)
		return err;
	buf = kvzalloc(full, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	memcpy(buf, xstate, size);
	err = regset->set(thread->task, regset, 0, full, buf, NULL);
	kvfree(buf);
	return err;
}
