// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86-64: registers and extended state of threads, the vDSO.
 *
 * Registers of another thread are read through the kernel's regsets only, and
 * only after ckpt_thread_settle() said that the thread is off its CPU: before
 * that its extended state is still in the processor.
 */
#include <linux/elf.h>
#include <linux/mm_types.h>
#include <linux/regset.h>
#include <linux/sched.h>

#include <asm/fpu/xcr.h>
#include <asm/vdso.h>

#include <linux/ckpt.h>

#include "arch.h"

static const struct user_regset *ckpt_arch_regset(struct task_struct *task,
						  unsigned int note)
{
	const struct user_regset_view *view = task_user_regset_view(task);
	unsigned int i;

	for (i = 0; i < view->n; i++)
		if (view->regsets[i].core_note_type == note)
			return &view->regsets[i];
	return NULL;
}

void ckpt_arch_info(struct ckpt_info *info)
{
	const struct user_regset *xstate = ckpt_arch_regset(current, NT_X86_XSTATE);

	if (xstate)
		info->xstate_size = xstate->n * xstate->size;
	if (boot_cpu_has(X86_FEATURE_OSXSAVE))
		info->xfeatures = xgetbv(XCR_XFEATURE_ENABLED_MASK);
	if (current->mm && current->mm->context.vdso_image) {
		const struct vdso_image *image = current->mm->context.vdso_image;

		info->vdso_size = image->size;
		info->vvar_size = -image->sym_vvar_start;
	}
}
