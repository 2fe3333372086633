// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice: the VmFlags of regions with each kind of madvise are the same after the
 * wait as before.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(16 * 4096)

static const int advice[] = {
	MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
	MADV_DONTDUMP, MADV_DONTFORK, MADV_WIPEONFORK, MADV_MERGEABLE,
};
#define KINDS (sizeof(advice) / sizeof(advice[0]))

static uint8_t *mem[KINDS];
static char flags[KINDS][256];

static void setup(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		/* an own mapping each, not merged with its neighbour */
		mem[i] = cr_map(SIZE + 8192, PROT_NONE, MAP_PRIVATE);
		mem[i] += 4096;
		cr_sys(mprotect(mem[i], SIZE, PROT_READ | PROT_WRITE));
		if (madvise(mem[i], SIZE, advice[i]) < 0)
			cr_check(errno == EINVAL, "advice %d", advice[i]);
		cr_fill(mem[i], SIZE, i);
		cr_vmflags(mem[i], flags[i], sizeof(flags[i]));
	}
}

static void verify(void)
{
	char now[256];

	for (size_t i = 0; i < KINDS; i++) {
		cr_vmflags(mem[i], now, sizeof(now));
		cr_check(!strcmp(now, flags[i]), "advice %d: VmFlags:%s, not%s",
			 advice[i], now, flags[i]);
		cr_check_fill(mem[i], SIZE, i);
	}
}

CR_TEST(.setup = setup, .verify = verify);
