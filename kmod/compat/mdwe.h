/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * prctl(PR_SET_MDWE): since 6.3, PR_MDWE_NO_INHERIT since 6.7.
 */
#ifndef _CKPT_COMPAT_MDWE_H
#define _CKPT_COMPAT_MDWE_H

#include <linux/mm_types.h>
#include <linux/sched/coredump.h>

#include <linux/ckpt.h>

/* PR_SET_MDWE, as flags of a PROC record; from 6.3 on. */
static inline u32 ckpt_mm_mdwe(const struct mm_struct *mm)
{
	u32 flags = 0;
#ifdef MMF_HAS_MDWE
	if (test_bit(MMF_HAS_MDWE, &mm->flags))
		flags |= CKPT_PROC_MDWE;
#endif
#ifdef MMF_HAS_MDWE_NO_INHERIT
	if (test_bit(MMF_HAS_MDWE_NO_INHERIT, &mm->flags))
		flags |= CKPT_PROC_MDWE_NO_INHERIT;
#endif
	return flags;
}

/* May ckpt_mm_set_mdwe() be called with these flags of a process? */
static inline bool ckpt_can_mdwe(u32 flags)
{
#ifdef MMF_HAS_MDWE
	flags &= ~CKPT_PROC_MDWE;
#endif
#ifdef MMF_HAS_MDWE_NO_INHERIT
	flags &= ~CKPT_PROC_MDWE_NO_INHERIT;
#endif
	return !(flags & (CKPT_PROC_MDWE | CKPT_PROC_MDWE_NO_INHERIT));
}

static inline void ckpt_mm_set_mdwe(struct mm_struct *mm, u32 flags)
{
#ifdef MMF_HAS_MDWE
	if (flags & CKPT_PROC_MDWE)
		set_bit(MMF_HAS_MDWE, &mm->flags);
#endif
#ifdef MMF_HAS_MDWE_NO_INHERIT
	if (flags & CKPT_PROC_MDWE_NO_INHERIT)
		set_bit(MMF_HAS_MDWE_NO_INHERIT, &mm->flags);
#endif
}

#endif /* _CKPT_COMPAT_MDWE_H */
