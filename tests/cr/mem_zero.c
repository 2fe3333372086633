// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that was only read: it is the zero page, costs nothing in an image, reads
 * as zero afterwards and can be written.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(8UL << 20)

static uint8_t *mem;

static uint64_t sum(void)
{
	uint64_t s = 0;

	for (size_t i = 0; i < SIZE; i += 4096)
		s += *(volatile uint64_t *)(mem + i);
	return s;
}

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, SIZE, MADV_NOHUGEPAGE));
	cr_eq(sum(), 0);
}

static void verify(void)
{
	cr_eq(sum(), 0);
	cr_fill(mem, SIZE, 1);
	cr_check_fill(mem, SIZE, 1);
}

CR_TEST(.setup = setup, .verify = verify);
