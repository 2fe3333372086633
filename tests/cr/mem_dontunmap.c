// SPDX-License-Identifier: GPL-2.0-only
/*
 * MREMAP_DONTUNMAP: the pages have moved, and their old place reads as zero.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#define LEN	(64 * 4096)

static uint8_t *before, *after;

static void setup(void)
{
	before = cr_map(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(before, LEN, 6);
	after = mremap(before, LEN, LEN, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (after == MAP_FAILED)
		cr_skip("MREMAP_DONTUNMAP: %s", strerror(errno));
	before[4096] = 1;
}

static void verify(void)
{
	cr_check_fill(after, LEN, 6);
	cr_eq(before[4096], 1);
	before[4096] = 0;
	for (size_t i = 0; i < LEN; i++)
		cr_eq(before[i], 0);
}

CR_TEST(.setup = setup, .verify = verify);
