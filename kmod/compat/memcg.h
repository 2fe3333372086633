/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory cgroups of older kernels under the newest kernel's names.
 */
#ifndef _CKPT_COMPAT_MEMCG_H
#define _CKPT_COMPAT_MEMCG_H

#include <linux/memcontrol.h>

#include "ksyms.h"

#ifdef CONFIG_MEMCG
/*
 * Bring the counts of @memcg up to date, but for the changes that each processor still holds
 * back. Drop when minimum >= 6.8.
 */
static inline void ckpt_memcg_flush(struct mem_cgroup *memcg)
{
#ifdef CKPT_HAVE_MEMCG_FLUSH_ONE
	ckpt_k(mem_cgroup_flush_stats)(memcg);
#else
	ckpt_k(mem_cgroup_flush_stats)();
#endif
}
#endif

#endif /* _CKPT_COMPAT_MEMCG_H */
