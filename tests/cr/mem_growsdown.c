// SPDX-License-Identifier: GPL-2.0-only
/*
 * A MAP_GROWSDOWN mapping keeps its content and its habit: it grows when the
 * program touches what is just below it.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGES	16

static uint8_t *mem, *reserve;

static void setup(void)
{
	reserve = cr_map(2048 * 4096, PROT_NONE, MAP_PRIVATE);
	cr_sys(munmap(reserve, 2048 * 4096));
	mem = mmap(reserve + 1500 * 4096, PAGES * 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE,
		   -1, 0);
	cr_check(mem != MAP_FAILED, "mmap: %s", strerror(errno));
	cr_fill(mem, PAGES * 4096, 1);
	mem[-4096] = 7;
	mem[-2 * 4096] = 8;
}

static void verify(void)
{
	char flags[256];

	cr_check_fill(mem, PAGES * 4096, 1);
	cr_eq(mem[-4096], 7);
	cr_eq(mem[-2 * 4096], 8);
	cr_vmflags(mem, flags, sizeof(flags));
	cr_check(strstr(flags, " gd"), "VmFlags:%s", flags);
	for (int i = 3; i < 20; i++)
		mem[-i * 4096] = (uint8_t)i;
	for (int i = 3; i < 20; i++)
		cr_eq(mem[-i * 4096], i);
}

CR_TEST(.setup = setup, .verify = verify);
