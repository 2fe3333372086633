// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code made at run time in executable anonymous memory, and a patched page of the
 * program's own text: both run on as they were.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

static int (*generated)(void);

static __attribute__((noinline, aligned(4096))) int patched(void)
{
	__asm__ volatile("");
	return 1;
}

static void put_return(uint8_t *p, int value)
{
	p[0] = 0xb8;	/* mov $value, %eax; ret */
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static void setup(void)
{
	void *page = (void *)((uintptr_t)patched & ~4095UL);

	generated = cr_map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	put_return((uint8_t *)generated, 4711);
	cr_sys(mprotect((void *)generated, 4096, PROT_READ | PROT_EXEC));
	/* others live in that page */
	cr_sys(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	put_return((uint8_t *)patched, 1147);
	cr_sys(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static void verify(void)
{
	int (*volatile fn)(void) = patched;

	cr_eq(generated(), 4711);
	cr_eq(fn(), 1147);
}

CR_TEST(.setup = setup, .verify = verify);
