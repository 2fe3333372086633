// SPDX-License-Identifier: GPL-2.0-only
/*
 * After the wait a program with some memory still forks: the children's copies are
 * independent, and their changes do not show in the parent.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(4UL << 20)

static uint8_t *mem;

static void setup(void)
{
	mem = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(mem, SIZE, 1);
}

static void in_child(void *arg)
{
	cr_check_fill(mem, SIZE, 1);
	cr_fill(mem, SIZE, (uint64_t)(uintptr_t)arg);
	cr_check_fill(mem, SIZE, (uint64_t)(uintptr_t)arg);
}

static void verify(void)
{
	pid_t child[4];

	for (uintptr_t i = 0; i < 4; i++)
		child[i] = cr_fork(in_child, (void *)(i + 10));
	for (int i = 0; i < 4; i++)
		cr_join(child[i]);
	cr_check_fill(mem, SIZE, 1);
	cr_fill(mem, SIZE, 2);
	cr_check_fill(mem, SIZE, 2);
}

CR_TEST(.setup = setup, .verify = verify);
