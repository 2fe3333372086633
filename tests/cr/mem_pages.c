// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every page of a region has content of its own and one neighbour in three is
 * missing: contents must come back at their addresses, exactly, and only there.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGES	3000

static uint8_t *mem;

static void setup(void)
{
	mem = cr_map(PAGES * 4096UL, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, PAGES * 4096UL, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < PAGES; i++)
		if (i % 3)
			cr_fill(mem + i * 4096, 4096, i);
}

static void verify(void)
{
	unsigned char present[PAGES];

	cr_sys(mincore(mem, PAGES * 4096UL, present));
	for (size_t i = 0; i < PAGES; i++) {
		if (i % 3)
			cr_check_fill(mem + i * 4096, 4096, i);
		else
			cr_check(!(present[i] & 1), "page %zu was never touched", i);
	}
}

CR_TEST(.setup = setup, .verify = verify);
