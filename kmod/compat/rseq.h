/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rseq of older kernels: one length only, not stored.
 */
#ifndef _CKPT_COMPAT_RSEQ_H
#define _CKPT_COMPAT_RSEQ_H

#include <linux/sched.h>
/* in 6.1 this finds the uapi header, and sched.h has the rest */
#include <linux/rseq.h>

#define CKPT_RSEQ_LEN	32	/* of the first version */

/* Drop when minimum >= 6.3 */
static inline void ckpt_rseq_set_len(u32 len)
{
#ifdef CKPT_HAVE_RSEQ_LEN
	current->rseq_len = len;
#endif
}

/* As rseq(2) checks them; drop when minimum >= 6.3 */
static inline bool ckpt_rseq_layout_ok(u64 addr, u32 len)
{
#ifdef CKPT_HAVE_RSEQ_LEN
	if (len != CKPT_RSEQ_LEN)
		return len >= offsetof(struct rseq, end) && len <= PAGE_SIZE &&
		       IS_ALIGNED(addr, __alignof__(struct rseq));
#endif
	return len == CKPT_RSEQ_LEN && IS_ALIGNED(addr, CKPT_RSEQ_LEN);
}

#endif /* _CKPT_COMPAT_RSEQ_H */
