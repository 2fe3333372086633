// SPDX-License-Identifier: GPL-2.0-only
/*
 * A region under MADV_HUGEPAGE: the content is right and the advice still stands.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)
#define SIZE	(8 * HUGE)

static uint8_t *mem;
static uint64_t rounds;

static void setup(void)
{
	mem = cr_map(SIZE + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	mem = (uint8_t *)(((uintptr_t)mem + HUGE - 1) & ~(HUGE - 1));
	if (madvise(mem, SIZE, MADV_HUGEPAGE) < 0)
		cr_skip("no transparent huge pages");
	cr_fill(mem, SIZE, 1);
}

static void step(void)
{
	cr_fill(mem + 3 * HUGE, 64, ++rounds);
}

static void verify(void)
{
	char flags[256];

	if (rounds)
		cr_check_fill(mem + 3 * HUGE, 64, rounds);
	cr_vmflags(mem, flags, sizeof(flags));
	cr_check(strstr(flags, " hg"), "VmFlags:%s", flags);
	cr_check_fill(mem, 3 * HUGE, 1);
	memset(mem, 0, SIZE);
	cr_fill(mem, SIZE, 2);
	cr_check_fill(mem, SIZE, 2);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
