// SPDX-License-Identifier: GPL-2.0-only
/*
 * MADV_WIPEONFORK memory keeps its content in the process itself, and a child
 * made after the wait still finds zeroes.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(128 * 4096)

static uint8_t *mem;

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_sys(madvise(mem, SIZE, MADV_WIPEONFORK));
	cr_fill(mem, SIZE, 1);
}

static void in_child(void *arg)
{
	for (size_t i = 0; i < SIZE; i += 8)
		cr_eq(*(uint64_t *)(mem + i), 0);
}

static void verify(void)
{
	cr_check_fill(mem, SIZE, 1);
	cr_join(cr_fork(in_child, NULL));
	cr_check_fill(mem, SIZE, 1);
}

CR_TEST(.setup = setup, .verify = verify);
