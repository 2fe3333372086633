/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rseq(2): older kernels know one length only and do not store it.
 */
#ifndef _CKPT_COMPAT_RSEQ_H
#define _CKPT_COMPAT_RSEQ_H

#include <linux/sched.h>
/* in 6.1 this finds the uapi header; sched.h declares the functions */
#include <linux/rseq.h>

#define CKPT_RSEQ_LEN	32	/* of the first version */

#ifdef CONFIG_RSEQ

/* Give current's rseq area to the kernel; NULL takes it away. */
static inline void ckpt_rseq_set(u64 addr, u32 len, u32 sig)
{
	preempt_disable();
	current->rseq = (struct rseq __user *)addr;
	current->rseq_sig = sig;
#ifdef CKPT_HAVE_RSEQ_LEN	/* drop when minimum >= 6.3 */
	current->rseq_len = len;
#endif
	/* as after a preemption: abort a critical section, update cpu_id */
	if (addr)
		rseq_preempt(current);
	preempt_enable();
}

/* Check address and length of the area as rseq(2) does. */
static inline bool ckpt_rseq_layout_ok(u64 addr, u32 len)
{
#ifdef CKPT_HAVE_RSEQ_LEN	/* drop when minimum >= 6.3 */
	if (len != CKPT_RSEQ_LEN)
		return len >= offsetof(struct rseq, end) && len <= PAGE_SIZE &&
		       IS_ALIGNED(addr, __alignof__(struct rseq));
#endif
	return len == CKPT_RSEQ_LEN && IS_ALIGNED(addr, CKPT_RSEQ_LEN);
}

#else	/* a kernel without rseq takes no record that has it */

static inline void ckpt_rseq_set(u64 addr, u32 len, u32 sig)
{
}

static inline bool ckpt_rseq_layout_ok(u64 addr, u32 len)
{
	return false;
}

#endif

#endif /* _CKPT_COMPAT_RSEQ_H */
