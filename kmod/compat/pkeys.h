/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protection keys of a memory map: those of the program, and the kernel's own for mappings that may
 * only be executed.  Without the kernel's option there are none.
 */
#ifndef _CKPT_COMPAT_PKEYS_H
#define _CKPT_COMPAT_PKEYS_H

#include <linux/mm.h>
#include <linux/pkeys.h>
#include <linux/sched.h>

/* Protection keys that the program has allocated, whether it uses them or not, as bits. */
static inline u32 ckpt_mm_pkeys(const struct mm_struct *mm)
{
	u32 keys = 0;
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	keys = mm->context.pkey_allocation_map & ~1U;
	/* the kernel's own key, for mappings with PROT_EXEC only */
	if (mm->context.execute_only_pkey > 0)
		keys &= ~(1U << mm->context.execute_only_pkey);
#endif
	return keys;
}

/*
 * The key of a mapping that may only be executed, if the kernel chose it; 0: none.  Call
 * with the map's mmap_lock.
 */
static inline unsigned int ckpt_vma_exec_key(const struct vm_area_struct *vma)
{
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	int key = vma->vm_mm->context.execute_only_pkey;

	if (key > 0 && vma_pkey((struct vm_area_struct *)vma) == key &&
	    (vma->vm_flags & VM_ACCESS_FLAGS) == VM_EXEC)
		return key;
#endif
	return 0;
}

/*
 * Make @key the one that current gives such mappings from now on.  With 0 it chooses one at
 * the next, unless @none: then they get none.  Meanwhile the program has no other key.  False: this
 * machine has no keys.
 */
static inline bool ckpt_mm_set_exec_key(unsigned int key, bool none)
{
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	mm_context_t *context = &current->mm->context;

	if (!cpu_feature_enabled(X86_FEATURE_OSPKE))
		return !key;
	context->execute_only_pkey = key ?: -1;
	/* the kernel finds no key where all are taken */
	context->pkey_allocation_map = none && !key ? (1U << arch_max_pkey()) - 1 : 1U | 1U << key;
	return true;
#else
	return !key;
#endif
}

/* Let @keys be those that current's program has allocated, beside the kernel's own. */
static inline bool ckpt_mm_set_pkeys(u32 keys)
{
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	if (!keys)
		return true;
	if (!cpu_feature_enabled(X86_FEATURE_OSPKE) || keys & 1 || keys >> arch_max_pkey())
		return false;
	current->mm->context.pkey_allocation_map |= keys;
	return true;
#else
	return !keys;
#endif
}

#endif /* _CKPT_COMPAT_PKEYS_H */
