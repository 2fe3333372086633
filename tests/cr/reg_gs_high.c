// SPDX-License-Identifier: GPL-2.0-only
/*
 * A GS base in the kernel's half of addresses, which a program can set where the CPU has
 * the instruction for it: offsets that lead from there to memory of its own.
 */
#include <sys/auxv.h>

#include "tests/cr/phase.h"

#define BASE	((uint64_t)-4096)

static uint64_t get_base(void)
{
	uint64_t base;

	__asm__ volatile("rdgsbase %0" : "=r"(base));
	return base;
}

static void setup(void)
{
	if (!(getauxval(AT_HWCAP2) & 2))	/* HWCAP2_FSGSBASE */
		cr_skip("no wrgsbase");
	__asm__ volatile("wrgsbase %0" : : "r"(BASE));
	cr_eq(get_base(), BASE);
}

static void verify(void)
{
	uint64_t value = 0x1234, seen;

	cr_eq(get_base(), BASE);
	__asm__ volatile("movq %%gs:(%1), %0"
			 : "=r"(seen)
			 : "r"((uintptr_t)&value - BASE), "m"(value));
	cr_eq(seen, value);
}

CR_TEST(.setup = setup, .verify = verify);
