// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flags that user mode may set: direction, alignment check and carry survive a spin.
 */
#include "tests/cr/spin.h"

#define FLAGS	(1UL << 18 | 1UL << 10 | 1UL)	/* AC, DF, CF */

static uint64_t seen;

static void block(void)
{
	uint64_t flags;

	__asm__ volatile(
		"subq $128, %%rsp\n"
		"pushfq\n"
		"pushfq\n"
		"orq %[set], (%%rsp)\n"
		"popfq\n"
		"9: movl %[stop], %%eax\n"	/* no instruction here changes flags */
		"movl %%eax, %%ecx\n"
		"jrcxz 9b\n"
		"pushfq\n"
		"popq %[flags]\n"
		"popfq\n"	/* the C library is not aligned */
		"addq $128, %%rsp\n"
		: [flags] "=&r"(flags)
		: [set] "r"(FLAGS), [stop] "m"(spin_stop)
		: "rax", "rcx", "memory", "cc");
	seen = flags;
}

static void verify(void)
{
	cr_eq(seen & FLAGS, FLAGS);
}

CR_TEST(.setup = spin_setup, .wait = block, .verify = verify);
