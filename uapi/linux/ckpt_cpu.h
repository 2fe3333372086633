/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Properties of the CPU that a program may have learnt, and must find again where it is restored;
 * included by linux/ckpt.h.
 */
#ifndef _UAPI_LINUX_CKPT_CPU_H
#define _UAPI_LINUX_CKPT_CPU_H

#include <linux/types.h>

/* Words of ckpt_cpu.features: CPUID leaf (and subleaf), register */
enum ckpt_cpu_word {
	CKPT_CPU_1_EDX = 0,
	CKPT_CPU_1_ECX = 1,
	CKPT_CPU_7_EBX = 2,
	CKPT_CPU_7_ECX = 3,
	CKPT_CPU_7_EDX = 4,
	CKPT_CPU_7_1_EAX = 5,
	CKPT_CPU_D_1_EAX = 6,
	CKPT_CPU_80000001_EDX = 7,
	CKPT_CPU_80000001_ECX = 8,
};

#define CKPT_CPU_WORDS		16
#define CKPT_XSTATE_COMPONENTS	32

/**
 * struct ckpt_cpu - the CPU, as this kernel lets programs use it
 * @features: by enum ckpt_cpu_word; features that the kernel has switched off are not set.
 *	CKPT_CPU_1_EDX is never 0 if the structure was filled in
 * @xstate_offset, @xstate_size: by bit of xfeatures, from 2: place of that register set in an XSAVE
 *	area in user (NT_X86_XSTATE) format.  CPUs of different makers differ in the offsets,
 *	not in the sizes
 */
struct ckpt_cpu {
	__u32 features[CKPT_CPU_WORDS];
	__u32 xstate_offset[CKPT_XSTATE_COMPONENTS];
	__u32 xstate_size[CKPT_XSTATE_COMPONENTS];
};

#endif /* _UAPI_LINUX_CKPT_CPU_H */
