// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86-64: registers and extended state of threads, the vDSO.
 *
 * Registers of another thread are read through the kernel's regsets only, and
 * only after ckpt_thread_settle() said that the thread is off its CPU: before
 * that its extended state is still in the processor.
 */
#include <linux/elf.h>
#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/regset.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <asm/cpufeature.h>
#include <asm/desc.h>
#include <asm/fpu/xcr.h>
#include <asm/fpu/xstate.h>
#include <asm/prctl.h>
#include <asm/processor.h>
#include <asm/segment.h>
#include <asm/syscall.h>
#include <asm/vdso.h>

#include <linux/ckpt.h>

#include "arch.h"
#include "collect.h"
#include "compat/optional.h"
#include "records.h"

/* The regset of the 64-bit view, which is the caller's view: 32-bit tasks are refused. */
static const struct user_regset *ckpt_arch_regset(unsigned int note)
{
	const struct user_regset_view *view = task_user_regset_view(current);
	unsigned int i;

	for (i = 0; i < view->n; i++)
		if (view->regsets[i].core_note_type == note)
			return &view->regsets[i];
	return NULL;
}

/* The regset of the extended state; without XSAVE it is NT_PRFPREG, the FXSAVE area. */
static const struct user_regset *ckpt_arch_xstate_regset(void)
{
	unsigned int note = boot_cpu_has(X86_FEATURE_XSAVE) ? NT_X86_XSTATE : NT_PRFPREG;

	return ckpt_arch_regset(note);
}

static u64 ckpt_arch_xfeatures(void)
{
	return boot_cpu_has(X86_FEATURE_OSXSAVE) ? xgetbv(XCR_XFEATURE_ENABLED_MASK) : 0;
}

void ckpt_arch_cpu(struct ckpt_cpu *cpu)
{
	static const u8 words[] = {
		[CKPT_CPU_1_EDX] = CPUID_1_EDX,
		[CKPT_CPU_1_ECX] = CPUID_1_ECX,
		[CKPT_CPU_7_EBX] = CPUID_7_0_EBX,
		[CKPT_CPU_7_ECX] = CPUID_7_ECX,
		[CKPT_CPU_7_EDX] = CPUID_7_EDX,
		[CKPT_CPU_7_1_EAX] = CPUID_7_1_EAX,
		[CKPT_CPU_D_1_EAX] = CPUID_D_1_EAX,
		[CKPT_CPU_80000001_EDX] = CPUID_8000_0001_EDX,
		[CKPT_CPU_80000001_ECX] = CPUID_8000_0001_ECX,
	};
	u64 xfeatures = ckpt_arch_xfeatures();
	unsigned int i;
	u32 unused;

	BUILD_BUG_ON(ARRAY_SIZE(words) > CKPT_CPU_WORDS);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		cpu->features[i] = boot_cpu_data.x86_capability[words[i]];
	/* x87 and SSE state lie at the places of the FXSAVE area */
	for (i = FIRST_EXTENDED_XFEATURE; i < CKPT_XSTATE_COMPONENTS; i++)
		if (xfeatures & BIT_ULL(i))
			cpuid_count(XSTATE_CPUID, i, &cpu->xstate_size[i],
				    &cpu->xstate_offset[i], &unused, &unused);
}

void ckpt_arch_info(struct ckpt_info *info)
{
	const struct user_regset *xstate = ckpt_arch_xstate_regset();

	if (xstate)
		info->xstate_size = xstate->n * xstate->size;
	info->xfeatures = ckpt_arch_xfeatures();
	ckpt_arch_cpu(&info->cpu);
	if (current->mm)
		ckpt_arch_vdso(current->mm, &info->vdso_size, &info->vvar_size);
}

void ckpt_arch_vdso(const struct mm_struct *mm, u32 *ret_vdso, u32 *ret_vvar)
{
	const struct vdso_image *image = mm->context.vdso_image;

	if (!image)
		return;
	*ret_vdso = image->size;
	*ret_vvar = -image->sym_vvar_start;
}

bool ckpt_arch_restarts_32(const struct task_struct *task, u64 ax)
{
	const struct restart_block *block = &task->restart_block;

	/* AX before the kernel handles the restart, or after: 0 is the 32-bit restart_syscall */
	return ((s64)ax == -ERESTART_RESTARTBLOCK || !ax) && block->arch_data & TS_COMPAT &&
	       (const void *)block->fn != ckpt_kdata.do_no_restart_syscall;
}

int ckpt_arch_collect_regs(struct ckpt_collect *c, struct task_struct *task,
			   struct ckpt_rec_thread *rec)
{
	const struct user_regset *set = ckpt_arch_regset(NT_PRSTATUS);

	BUILD_BUG_ON(sizeof(rec->regs) != sizeof(struct user_regs_struct));
	if (!set || set->n * set->size != sizeof(rec->regs)) {
		ckpt_refuse(c->cap, CKPT_R_COMPAT_TASK, task, 0, "32-bit registers");
		return 0;
	}
	if (regset_get(task, set, sizeof(rec->regs), rec->regs) < 0) {
		ckpt_refuse(c->cap, CKPT_R_THREAD_STATE, task, 0, "registers");
		return 0;
	}
	if (rec->regs[CKPT_REG_CS] != __USER_CS)
		ckpt_refuse(c->cap, CKPT_R_COMPAT_TASK, task, rec->regs[CKPT_REG_CS],
			    "code segment %#llx", rec->regs[CKPT_REG_CS]);
	if ((int)rec->regs[CKPT_REG_ORIG_AX] != -1)
		rec->flags |= CKPT_THREAD_IN_SYSCALL;
	return 0;
}

int ckpt_arch_collect_xstate(struct ckpt_collect *c, struct task_struct *task, s32 tid)
{
	const struct user_regset *set = ckpt_arch_xstate_regset();
	struct ckpt_rec_xstate *rec;
	unsigned int size;
	int n;

	if (!set)
		return 0;
	size = set->n * set->size;
	rec = ckpt_records_add(c->recs, CKPT_REC_XSTATE, sizeof(*rec) + size);
	if (!rec)
		return -ENOMEM;
	rec->tid = tid;
	n = regset_get(task, set, size, rec + 1);
	if (n < 0)
		ckpt_refuse(c->cap, CKPT_R_THREAD_STATE, task, 0, "extended state (%d)", n);
	else
		rec->size = n;
	return 0;
}

static bool ckpt_arch_has_tls_segment(const struct thread_struct *thread)
{
	unsigned int i;

	for (i = 0; i < GDT_ENTRY_TLS_ENTRIES; i++)
		if (!desc_empty(&thread->tls_array[i]))
			return true;
	return false;
}

static bool ckpt_arch_has_speculation(struct task_struct *task)
{
	return task_spec_ssb_disable(task) || task_spec_ssb_noexec(task) ||
	       task_spec_ib_disable(task) ||
	       test_tsk_thread_flag(task, TIF_SPEC_L1D_FLUSH);
}

void ckpt_arch_check(struct ckpt_collect *c, struct task_struct *task)
{
	const struct thread_struct *thread = &task->thread;
	bool has_ldt, has_tags;

	if (test_tsk_thread_flag(task, TIF_ADDR32))
		ckpt_refuse(c->cap, CKPT_R_COMPAT_TASK, task, 0, "32-bit address space");
	task_lock(task);
	has_ldt = task->mm && ckpt_mm_has_ldt(task->mm);
	has_tags = task->mm && ckpt_mm_has_tags(task->mm);
	task_unlock(task);
	if (has_tags)
		ckpt_refuse(c->cap, CKPT_R_TASK_MODE, task, 0, "ARCH_ENABLE_TAGGED_ADDR");
	if (has_ldt)
		ckpt_refuse(c->cap, CKPT_R_LDT, task, 0, "modify_ldt");
#ifdef CONFIG_X86_IOPL_IOPERM
	if (thread->io_bitmap || thread->iopl_emul)
		ckpt_refuse(c->cap, CKPT_R_LDT, task, 0, "I/O port rights");
#endif
	if (ckpt_arch_has_tls_segment(thread))
		ckpt_refuse(c->cap, CKPT_R_LDT, task, 0, "TLS segment in the GDT");
	if (test_tsk_thread_flag(task, TIF_NOTSC))
		ckpt_refuse(c->cap, CKPT_R_TASK_MODE, task, 0, "PR_SET_TSC");
	if (test_tsk_thread_flag(task, TIF_NOCPUID))
		ckpt_refuse(c->cap, CKPT_R_TASK_MODE, task, 0, "ARCH_SET_CPUID");
	if (ckpt_arch_has_speculation(task))
		ckpt_refuse(c->cap, CKPT_R_TASK_MODE, task, 0, "PR_SET_SPECULATION_CTRL");
	if (READ_ONCE(task->group_leader->thread.fpu.perm.__state_perm) &
	    XFEATURE_MASK_USER_DYNAMIC)
		ckpt_refuse(c->cap, CKPT_R_TASK_MODE, task, 0, "ARCH_REQ_XCOMP_PERM (AMX)");
#ifdef CONFIG_X86_USER_SHADOW_STACK
	if (thread->features & ARCH_SHSTK_SHSTK)
		ckpt_refuse(c->cap, CKPT_R_SHADOW_STACK, task, 0, "shadow stack");
#endif
}

bool ckpt_arch_sample(struct task_struct *task, struct ckpt_sample_thread *out)
{
	const struct pt_regs *regs = task_pt_regs(task);

	if (!user_mode((struct pt_regs *)regs))
		return false;
	out->ip = regs->ip;
	out->sp = regs->sp;
	out->preserved[0] = regs->bp;
	out->preserved[1] = regs->bx;
	out->preserved[2] = regs->r12;
	out->preserved[3] = regs->r13;
	out->preserved[4] = regs->r14;
	out->preserved[5] = regs->r15;
	out->syscall = (s32)regs->orig_ax < 0 ? -1 : (s32)regs->orig_ax;
	return true;
}
